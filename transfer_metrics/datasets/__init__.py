"Data and networks that ship with the package"
from .. import lazy

lazy(__name__)
