"""Our own types as the conformance kit takes them, with the examples that other tests use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from heatlite.engine.types import plugin_loading, registry
from heatlite.testing import kit, modules
from heatlite.testing.examples import LOADER, SIMULATED, Example, Examples, read, referred

HERE = Path(__file__).parent
EVERYTHING = HERE / 'rest' / 'everything.yaml'      # one of every described type that the simulated cloud serves
OTHERS = HERE / 'own_types.conformance.yaml'        # classes, and what the entries of everything may change into
BESIDE = {                                  # type -> resources of everything without which it has no place
    'OS::Neutron::ExtraRoute': ['interface'], 'OS::Neutron::ExtraRouteSet': ['interface'],
    'OS::Neutron::FloatingIP': ['interface'], 'OS::Neutron::FloatingIPAssociation': ['interface']}
CHANGES = HERE / 'own_changes.yaml'             # values for single properties
QUEUES = ('alarm_queues', 'insufficient_data_queues', 'ok_queues')
# Made by Neutron itself, for the first port of a project.
DEFAULT_GROUP = ('network.security-groups', 'network.security-group-rules')


@dataclass(frozen=True)
class OwnTypes(kit.Kit):
    """Every engine knows them already."""

    @property
    def types(self) -> Mapping[str, Any]:
        return dict(registry.current().classes())

    def register(self, types: registry.TypeRegistry) -> None:
        pass


def own_types() -> OwnTypes:
    others = read(OTHERS)
    everything = yaml.load(EVERYTHING.read_text(), Loader=LOADER)['resources']
    found = dict(others.types)
    for entry in everything.values():
        said = found.get(entry['type'], Example())
        if not said.properties:
            found[entry['type']] = replace(
                said, properties=entry.get('properties') or {},
                needs={other: everything[other] for other in needed(everything, entry, BESIDE.get(entry['type'], ()))})
    for name, example in found.items():
        if 'SecurityGroup' not in name:
            found[name] = replace(example, leaves=(*example.leaves, *DEFAULT_GROUP))
    changes = yaml.load(CHANGES.read_text(), Loader=LOADER)
    for name, example in found.items():
        found[name] = replace(example, changes={**_queues(name), **changes.get(name, {})})
    return OwnTypes(modules.LoadedPlugin(HERE, plugin_loading.PluginDefinitions()),
                    (Examples(found, SIMULATED, named=others.named),))


def _queues(type_name: str) -> dict[str, Any]:
    """Alarms take queues that are there."""
    if not type_name.startswith('OS::Aodh::'):
        return {}
    return {name: {'needs': {'another_queue': {'type': 'OS::Zaqar::Queue'}}, 'to': [{'get_resource': 'another_queue'}]}
            for name in QUEUES}


def needed(everything: Mapping[str, Any], entry: Any, beside: Iterable[str] = ()) -> list[str]:
    """Names of the resources that an entry stands on, each before those that stand on it."""
    found: list[str] = []
    for name in (*beside, *referred(entry)):
        found += [other for other in [*needed(everything, everything[name]), name] if other not in found]
    return found
