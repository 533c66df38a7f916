"""Measure transfer learning: four questions, each answered by numbers with a notebook that explains them

    import transfer_metrics as tm
    tm.leep(probs, labels)      # what a pretrained model says of your samples, and their labels

Before training: which pretrained model suits my labelled data?
    {transferability}
    {model_selection}
Before training: how much data does my task need on top of this representation?
    {loss_data}
After training: what did transfer save: data, head start, final level?
    {learning_curves}
In deployment: how accurate is the model on new data without labels?
    {invariance}
And do the scores predict anything?
    {experiments}

What they stand on:
    {datasets}
    {models}
    {registry}
    {samples}
    {stats}
    {streaming}

Everything else is reached by area, such as `tm.transferability.eep` and `tm.stats.kendall`.
`tm.metrics()` is the table of all metrics, `help(tm.leep)` explains one."""
from .public import lazy

__version__ = "0.1.0"

lazy(__name__)
