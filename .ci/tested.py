"The versions that the tests were run with, of all that `.[dev]` installs: `python .ci/tested.py > requirements-tested.txt`"
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ini = ConfigParser(delimiters='=', interpolation=None)
ini.read(Path(__file__).parents[1]/'settings.ini', encoding='utf-8')
wanted = [Requirement(line) for key in ('requirements','dev_requirements') for line in ini['DEFAULT'][key].split()]

found = {}
while wanted:
    r = wanted.pop()
    name = canonicalize_name(r.name)
    known,extras = found.get(name, ('',set()))
    if known and r.extras<=extras: continue
    try: d = distribution(name)
    except PackageNotFoundError: continue # of another system
    extras = extras|r.extras
    found[name] = Version(d.version).public,extras
    for line in d.requires or []:
        inner = Requirement(line)
        if not inner.marker or any(inner.marker.evaluate({'extra': e}) for e in {'',*extras}): wanted.append(inner)

print('# Made by `python .ci/tested.py`: the versions that the tests were run with')
for name,(version,_) in sorted(found.items()): print(f'{name}=={version}')
