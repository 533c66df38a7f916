# Written by docs/stubs.py: do not edit
from .books import Book as Book
from .books import error_text as error_text
from .books import Item as Item
from .books import workers as workers
from .files import atomic as atomic
from .files import Checkpoint as Checkpoint
from .files import npz_array as npz_array
from .files import npz_first as npz_first
from .files import npz_names as npz_names
from .fingerprints import file_states as file_states
from .fingerprints import fingerprint as fingerprint
from .rows import refuse_unwritable as refuse_unwritable
from .rows import RowStore as RowStore
