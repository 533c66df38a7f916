"`python -m transfer_metrics` is the command `transfer-metrics`"
from transfer_metrics.cli.main import main

if __name__=="__main__": main()
