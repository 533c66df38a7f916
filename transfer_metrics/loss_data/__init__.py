"Loss-data curves: how much data does my task need on top of this representation?"
from .. import lazy

lazy(__name__)
