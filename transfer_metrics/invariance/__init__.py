"How accurate is the model on new data without labels?"
from .. import lazy

lazy(__name__)
