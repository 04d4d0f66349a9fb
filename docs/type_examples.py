"""The example templates of the reference pages, from the examples that the tests of resource types execute.

`tests/plugins/own_types.py` has an example of each type that the simulated cloud serves: the conformance suite creates,
updates and deletes it. Types whose examples need something that a test of one type does not have - a signal, a service
that the simulator lacks - are in type-examples.yaml; a test validates them.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name('type-examples.yaml')
VERSION = '2018-08-31'
HUMP = re.compile('(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])')

Template = dict[str, Any]


def templates() -> Mapping[str, Template]:
    """Type -> a template with a resource of it, and with what it needs."""
    return {**{name: template(name, example.properties, example.needs) for name, example in executed().items()},
            **{name: template(name, entry.get('properties') or {}, entry.get('needs') or {})
               for name, entry in others().items()}}


def executed() -> Mapping[str, Any]:
    """Type -> its `heatlite.testing.examples.Example`."""
    root = str(Path(__file__).parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    from tests.plugins.own_types import own_types
    return {name: example for group in own_types().groups for name, example in group.types.items()}


def others() -> Mapping[str, Any]:
    """Type -> `properties` and `needs` of an example that no test creates."""
    found: Mapping[str, Any] = yaml.safe_load(FILE.read_text(encoding='utf-8'))
    return found


def template(type_name: str, properties: Mapping[str, Any], needs: Mapping[str, Any]) -> Template:
    """`needs`: other resources of the template, as in a template."""
    name = HUMP.sub('_', type_name.rpartition('::')[2]).lower()
    while name in needs:
        name = f'the_{name}'
    resource = {'type': type_name, **({'properties': dict(properties)} if properties else {})}
    return copy.deepcopy({'heat_template_version': VERSION, 'resources': {**needs, name: resource}})
