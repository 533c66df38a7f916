"Agreement of scores with outcomes, and how far it can be trusted"
from ..public import lazy

lazy(__name__)
