"Ranking models, layers and features by their scores"
from .. import lazy

lazy(__name__)
