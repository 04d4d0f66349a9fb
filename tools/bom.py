"""Writes the bill of materials of this release: `tools/bom.py OUTPUT`, or `make bom`.

CycloneDX 1.6 in JSON: the distributions that the service and its extras need, as they are installed in the environment
of this program, which `constraints.txt` fixes; and the npm packages of which the console is built. Tools for tests,
documentation and packages are not part of it. The same environment gives the same bytes.
"""

from __future__ import annotations

import configparser
import importlib.metadata
import json
import pathlib
import re
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License, LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Extras of setup.cfg that are installed where the service runs, or by its users.
EXTRAS = ('client', 'key-manager', 'language-server', 'memcached', 'policies', 'postgres', 'traces', 'wsgi')
LICENSES = LicenseFactory()


def bom() -> Bom:
    """The bill. Raises PackageNotFoundError, naming the distribution, if one is not installed."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / 'setup.cfg')
    about = setup['metadata']
    found = Bom()
    service = Component(type=ComponentType.APPLICATION, name=about['name'], version=about['version'],
                        description=about['description'], licenses=[_license(about['license'])],
                        bom_ref=about['name'], purl=PackageURL('pypi', name=about['name'], version=about['version']))
    found.metadata.component = service
    found.metadata.timestamp = None
    found.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f'pkg:pypi/{about["name"]}@{about["version"]}')
    wanted = [*_lines(setup['options']['install_requires']),
              *(line for extra in EXTRAS for line in _lines(setup['options.extras_require'][extra]))]
    components = {name: _distribution(name) for name in sorted(_closure(wanted))}
    npm = {name: _npm(name, facts) for name, facts in _bundled()}
    found.components.update([*components.values(), *npm.values()])
    found.register_dependency(service, [*(components[_name(line)] for line in wanted), *npm.values()])
    for name, component in components.items():
        found.register_dependency(component, [components[each] for each in sorted(_needed(name, ()))
                                              if each in components])
    return found


def text() -> str:
    return str(JsonV1Dot6(bom()).output_as_string(indent=2)) + '\n'


def _lines(value: str) -> list[str]:
    return [line for line in value.strip().splitlines() if not line.startswith('#')]


def _name(requirement: str) -> str:
    return str(canonicalize_name(Requirement(requirement).name))


def _closure(wanted: Iterable[str]) -> set[str]:
    """All distributions that are needed for these requirements, on the platform that runs this."""
    found: set[str] = set()
    waiting = [(_name(line), tuple(Requirement(line).extras)) for line in wanted]
    while waiting:
        name, extras = waiting.pop()
        found.add(name)
        waiting += [(each, ()) for each in _needed(name, extras) if each not in found]
    return found


def _needed(name: str, extras: Sequence[str]) -> Iterator[str]:
    for line in importlib.metadata.requires(name) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({'extra': extra}) for extra in ('', *extras)):
            yield str(canonicalize_name(requirement.name))


def _distribution(name: str) -> Component:
    about = importlib.metadata.metadata(name)
    version = importlib.metadata.version(name)
    stated = about.get('License-Expression') or _classified(about.get_all('Classifier') or ()) or about.get('License')
    return Component(type=ComponentType.LIBRARY, name=about['Name'], version=version, description=about.get('Summary'),
                     bom_ref=f'pypi:{name}', purl=PackageURL('pypi', name=name, version=version),
                     licenses=[_license(stated)] if stated else [])


def _classified(classifiers: Iterable[str]) -> str | None:
    """The name of the licence in the classifiers of a distribution, if there is one alone."""
    found = [line.rpartition(' :: ')[2] for line in classifiers
             if line.startswith('License :: ') and not line.endswith('OSI Approved')]
    return found[0] if len(found) == 1 else None


def _license(stated: str) -> License:
    """Of an expression of SPDX, or of whatever the author wrote, in one line."""
    return LICENSES.make_from_string(re.sub(r'\s+', ' ', stated)[:200],
                                     license_acknowledgement=LicenseAcknowledgement.DECLARED)


def _bundled() -> Iterator[tuple[str, dict[str, str]]]:
    lock = json.loads((ROOT / 'console' / 'package-lock.json').read_text())
    for path, facts in sorted(lock['packages'].items()):
        if path and not facts.get('dev'):
            yield path.rpartition('node_modules/')[2], facts


def _npm(name: str, facts: dict[str, str]) -> Component:
    scope, _slash, last = name.rpartition('/')
    return Component(type=ComponentType.LIBRARY, name=last, group=scope or None, version=facts['version'],
                     bom_ref=f'npm:{name}',
                     purl=PackageURL('npm', namespace=scope or None, name=last, version=facts['version']),
                     licenses=[_license(facts['license'])] if 'license' in facts else [])


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    target = pathlib.Path(arguments[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text())
    print(target)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
