"Ranking models, layers and features by their scores"
from ..public import lazy

lazy(__name__)
