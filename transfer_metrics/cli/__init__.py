"The command line"

def run():
    "Entry point of `transfer-metrics`; an interruption while the program is still being read is one line too"
    import sys
    try:
        from .main import main
        return main()
    except KeyboardInterrupt:
        print('transfer-metrics: interrupted', file=sys.stderr)
        return 130
