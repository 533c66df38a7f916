"Scores: which pretrained model suits my labelled data?"
from .. import lazy

lazy(__name__)
