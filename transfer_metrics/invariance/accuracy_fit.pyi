# Written by docs/stubs.py: do not edit
from collections.abc import Mapping
from typing import NamedTuple
import numpy as np
from ..core import ArrayLike
from ..stats import Estimate
from typing import Any
_huber = 1.345

class AccuracyFit:
    metric: np.ndarray
    accuracy: np.ndarray
    slope: float
    intercept: float
    axes: Any
    robust: bool
    clip: Any
    n_boot: int
    coverage: float
    seed: int

    def __init__(self, *, axes: str='linear', robust: bool=False, clip: float=0.0, n_boot: int=2000, coverage: float=0.95, seed: int=0): ...

    def __repr__(self): ...

    def fit(self, metric: ArrayLike, accuracy: ArrayLike) -> AccuracyFit: ...

    def predict(self, metric: ArrayLike) -> ArrayLike: ...

    def score(self, metric: ArrayLike, accuracy: ArrayLike) -> FitScore: ...

    @property
    def r2(self) -> Estimate: ...

    @property
    def rmse(self) -> Estimate: ...

    @property
    def mae(self) -> Estimate: ...

    @property
    def spearman(self) -> Estimate: ...

    @property
    def kendall(self) -> Estimate: ...

    def interval(self, metric: ArrayLike, *, coverage: float=0.95) -> tuple: ...

class FitScore(NamedTuple):
    r2: Estimate
    rmse: Estimate
    mae: Estimate
    spearman: Estimate
    kendall: Estimate
_kinds: Any
_ranks: Any

def plot_fit(fit: AccuracyFit, outside: Mapping[str, tuple] | None=None, *, coverage: float=0.95, xlabel: str='metric', ax: Any=None, color: str=...) -> Any: ...
