"The lowest versions that `settings.ini` allows, as constraints for pip: `python .ci/floors.py > floors.txt`"
import re
from configparser import ConfigParser
from pathlib import Path

ini = ConfigParser(delimiters='=', interpolation=None)
ini.read(Path(__file__).parents[1]/'settings.ini', encoding='utf-8')
libraries = 'timm', 'transformers', 'open_clip', 'sentence-transformers'
keys = ['requirements', 'notebook_requirements', *(f'{k}_requirements' for k in libraries)]
for line in '\n'.join(ini['DEFAULT'][key] for key in keys).split():
    name,floor = re.match(r'([\w-]+)(?:\[\w+\])?>=([\d.]+)', line).groups()
    print(f'{name}=={floor}')
print('pyarrow<20')  # which `datasets` brings: later ones want a later pandas
print('pyparsing<3.3')  # of the time of these versions: matplotlib's lowest uses names that 3.3 warns of
