# Written by docs/stubs.py: do not edit
from .consensus import aggregate as aggregate
from .feature_selection import select_features as select_features
from .layers import best_layer as best_layer
from .layers import plot_layers as plot_layers
from .ranking import agreement as agreement
from .ranking import applicable as applicable
from .ranking import default_metrics as default_metrics
from .ranking import direction as direction
from .ranking import lacking as lacking
from .ranking import metric_functions as metric_functions
from .ranking import places as places
from .ranking import plot_agreement as plot_agreement
from .ranking import plot_ranking as plot_ranking
from .ranking import rank as rank
from .ranking import score_models as score_models
from .ranking import score_shards as score_shards
from .ranking import score_table as score_table
