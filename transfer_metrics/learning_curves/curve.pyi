# Written by docs/stubs.py: do not edit
from collections.abc import Callable, Mapping
from typing import NamedTuple
import numpy as np
import pandas as pd
from ..core import ArrayLike
from typing import Any

class Curve:
    n: np.ndarray
    runs: np.ndarray
    many: bool
    direction: str
    start: str
    asymptote: Any

    def __init__(self, n: ArrayLike, perf: ArrayLike, *, direction: str='max', start: str='zero', asymptote: Any='last'): ...

    @property
    def perf(self) -> np.ndarray: ...

    @property
    def p0(self) -> float | np.ndarray: ...

    @property
    def p_star(self) -> float | np.ndarray: ...

    def each(self, perf: ArrayLike=None) -> 'Curve': ...

    def __repr__(self): ...

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, n: str='n', perf: str='perf', run: str | None=None, **options: Any) -> Curve: ...

    @classmethod
    def from_sklearn(cls, result: tuple, **options: Any) -> Curve: ...

    @classmethod
    def from_loss_data(cls, frame: pd.DataFrame, *, name: str | None=None, direction: str='min', **options: Any) -> Curve: ...

class Side(NamedTuple):
    n: np.ndarray
    q: np.ndarray
    zero: float
    end: np.ndarray

    @property
    def p0(self) -> np.ndarray: ...

    @property
    def top(self) -> np.ndarray: ...

    @property
    def best(self) -> np.ndarray: ...

    def on_edge(self, i: np.ndarray, *levels: np.ndarray) -> list[np.ndarray]: ...

    def reach(self, p: np.ndarray) -> np.ndarray: ...

def check_curves(**curves: Curve) -> None: ...

class Sides:
    many: Any
    sign: Any
    scale: Any

    def __init__(self, **curves: Curve): ...

    def __iter__(self): ...

    def level(self, p: ArrayLike) -> np.ndarray: ...

    def value(self, v: np.ndarray) -> float | np.ndarray: ...

def at_levels(f: Callable, p: ArrayLike, **curves: Curve) -> ArrayLike: ...

def lexp(curve: Curve, p: ArrayLike) -> ArrayLike: ...

class AsymptoteFit(NamedTuple):
    p_star: Any
    a: Any
    b: Any
    rmse: Any
    converged: Any

class _Line(NamedTuple):
    residual: np.ndarray
    slope: np.ndarray
    shape: np.ndarray
    centred: np.ndarray

def fit_asymptote(curve: Curve, *, model: str='power') -> AsymptoteFit: ...
_looks: Any

def plot_curves(*, ax: Any=None, coverage: float | None=None, **curves: Curve) -> Any: ...

def replicates(metrics: Mapping[str, Callable], base: Curve, transfer: Curve, perf_base: ArrayLike, perf_transfer: ArrayLike) -> dict[str, np.ndarray]: ...
