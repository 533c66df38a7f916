"How accurate is the model on new data without labels?"
from ..public import lazy

lazy(__name__)
