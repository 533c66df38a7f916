"`python -m transfer_metrics` is the command `transfer-metrics`, where no folder of commands is on the path"
import sys
from .cli import run

if __name__=='__main__': sys.exit(run())
