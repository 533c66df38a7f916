"Experiments: do the scores predict what happens after transfer?"
from ..public import lazy

lazy(__name__)
