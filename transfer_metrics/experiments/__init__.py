"Experiments: do the scores predict what happens after transfer?"
from .. import lazy

lazy(__name__)
