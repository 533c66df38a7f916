"Learning curves: what did transfer save?"
from .. import lazy

lazy(__name__)
