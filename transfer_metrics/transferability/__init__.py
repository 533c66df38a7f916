"Scores: which pretrained model suits my labelled data?"
from ..public import lazy

lazy(__name__)
