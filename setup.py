"Packaging facts from settings.ini; name, description and links stand in pyproject.toml"
from configparser import ConfigParser
from setuptools import find_packages, setup

cfg = ConfigParser(delimiters=['='])
if not cfg.read('settings.ini', encoding='utf-8'): raise SystemExit('settings.ini is missing: run this from the root of the project')
def lines(k): return cfg['DEFAULT'][k].split('\n')[1:]

extras = {k.removesuffix('_requirements'): lines(k) for k in cfg['DEFAULT'] if k.endswith('_requirements')}
setup(author=cfg['DEFAULT']['author'], keywords=cfg['DEFAULT']['keywords'].split(), classifiers=lines('classifiers'),
      packages=find_packages(include=['transfer_metrics', 'transfer_metrics.*']), package_data={'transfer_metrics': [
          'py.typed', '*.pyi', '*/*.pyi', '*/*.csv', '*/*.csv.gz', '*/*.npz', '*/*-LICENSE', 'datasets/tables/*']},
      install_requires=lines('requirements'),
      extras_require=extras, entry_points={'console_scripts': lines('console_scripts'), 'nbdev': ['transfer_metrics=transfer_metrics._modidx:d']})
