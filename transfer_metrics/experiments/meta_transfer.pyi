# Written by docs/stubs.py: do not edit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
import numpy as np
import pandas as pd
from torch import Tensor, nn
from ..core import ArrayLike
from .modulation import Modulated
from .retrain_head import Transferred
from .tasks import generator
from typing import Any

class CNAPs(Modulated):
    encoder: Any
    generator: nn.Module
    head: nn.Module

    def __init__(self, model: nn.Module, example: ArrayLike, *, layers: Sequence[str] | str | None=None, features: str | None=None, head: str='mahalanobis', ridge: float=1.0, hidden: int=64, size: int=32, seed: int=0): ...

    def modulation(self, images: ArrayLike, *, batch_size: int=256) -> dict[str, tuple[Tensor, Tensor]]: ...

    def adapt(self, support: Any) -> Adapted: ...

    def meta_train(self, data: Any, *, n_episodes: int=400, classes: int | tuple=(5, 20), per_class: int | tuple=(1, 10), queries: int=10, lr: float=0.003, checkpoint: str | Path | None=None, every: int=50, seed: int=0, progress: bool=True) -> pd.DataFrame: ...

class Adapted(nn.Module):
    learner: CNAPs
    modulation: Mapping
    classify: Callable
    classes: np.ndarray
    n: int

    def __init__(self, learner: CNAPs, modulation: Mapping, classify: Callable, classes: np.ndarray, n: int): ...

    def forward(self, images: ArrayLike) -> Tensor: ...

    def predict(self, images: ArrayLike) -> np.ndarray: ...

def meta_transfer(learner: nn.Module, support: Any, test: Any) -> Transferred: ...
