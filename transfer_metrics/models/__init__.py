"One pass over the data: features, logits and probabilities of any PyTorch classifier"
from ..public import lazy

lazy(__name__)
