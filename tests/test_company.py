"A score of one model is the same number alone and in company"
import numpy as np
import pytest
import torch

from transfer_metrics.model_selection.ranking import score_models
from transfer_metrics.models import Outputs


@pytest.mark.filterwarnings('ignore')
def test_alone_as_in_company():
    "Bit for bit, whatever was computed before it of the same outputs"
    r = np.random.default_rng(0)
    labels = np.arange(120)%4
    means = r.normal(size=(4,6))
    features = torch.from_numpy(r.normal(size=(120,6))+means[labels])
    logits = torch.from_numpy(r.normal(size=(120,9)))
    out = Outputs(features=features, logits=logits, labels=torch.from_numpy(labels))
    every = score_models({'model': out}, metrics='all', progress=False).set_index('metric').value
    assert every.notna().sum()>10
    for name in every.index:
        alone = score_models({'model': out}, metrics=[name], progress=False).value
        np.testing.assert_array_equal(alone, every[[name]])
