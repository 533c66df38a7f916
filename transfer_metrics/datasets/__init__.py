"Data and networks that ship with the package"
from ..public import lazy

lazy(__name__)
