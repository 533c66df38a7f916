"Models are left as they were, also by a pass that fails, and random generators too"
from functools import partial
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset
import transfer_metrics as tm

y = torch.arange(24)%3
images = torch.rand(24, 1, 4, 4, generator=torch.Generator().manual_seed(0))

class Net(nn.Module):
    "Dropout and batch normalisation, a shared parameter, frozen parts, mixed modes, and hooks"
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first,self.second,self.head = nn.Linear(16, 16),nn.Linear(16, 16),nn.Linear(16, 3)
        self.norm,self.drop = nn.BatchNorm1d(16),nn.Dropout()
        self.second.weight = self.first.weight
        self.first.weight.requires_grad_(False)
        self.head.weight.grad = torch.ones_like(self.head.weight)
        self.norm.eval()
        self.first.register_forward_pre_hook(lambda m, x: None)
    def forward(self, x):
        x = self.second(self.first(x.flatten(1).to(self.head.weight.dtype)))
        return self.head(self.drop(self.norm(x)))

def facts(model):
    "Modes, hooks, parameters and buffers of a model"
    return [[(m.training,len(m._forward_hooks),len(m._forward_pre_hooks)) for m in model.modules()],
            {k: (id(p),p.data_ptr(),p.requires_grad,p.grad is None or p.grad.tolist()) for k,
             p in model.named_parameters()},
            {k: (v.dtype,v.tolist()) for k,v in model.state_dict().items()}]

class Broken(Dataset):
    def __len__(self): return 24
    def __getitem__(self, i):
        if i==17: raise RuntimeError('this image cannot be read')
        return images[i],y[i]

uses = dict(
    outputs=lambda m: tm.outputs(m, (images,y), progress=False),
    broken=lambda m: tm.outputs(m, Broken(), progress=False),
    scores=lambda m: tm.score_models({'net': m}, (images,y), ['leep','knn'], progress=False),
    report=lambda m: tm.label_free_report(m, images, progress=False),
    tuned=lambda m: tm.fine_tune(m, (images,y), (images,y), epochs=1, progress=False))
kinds = dict(plain=nn.Module.float, half=nn.Module.bfloat16,
             parallel=nn.DataParallel, compiled=partial(torch.compile, backend='eager'))

@pytest.mark.filterwarnings('ignore::transfer_metrics.registry.ScoreWarning')
@pytest.mark.parametrize('use', uses)
@pytest.mark.parametrize('kind', kinds)
def test_left_alone(kind, use):
    model = kinds[kind](Net())
    before = facts(model)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    if use=='broken':
        with pytest.raises(RuntimeError, match='cannot be read'): uses[use](model)
    else: uses[use](model)
    assert facts(model)==before and torch.equal(torch.get_rng_state(), state)
