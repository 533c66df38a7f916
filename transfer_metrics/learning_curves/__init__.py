"Learning curves: what did transfer save?"
from ..public import lazy

lazy(__name__)
