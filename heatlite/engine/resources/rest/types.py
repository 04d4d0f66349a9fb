"""Classes of described types, made when a type is first needed, and the names of all of them.

Names are the lines of the YAML files that begin with one: finding them parses nothing.
"""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Iterator, Mapping

from heatlite.common.whole_imports import whole
from heatlite.engine import resource
from heatlite.engine.resources import catalogue, packed
from heatlite.engine.resources.rest import actions, described_resource, description, placeholders
from heatlite.engine.resources.rest.description import TypeDescription

FOLDER = pathlib.Path(__file__).parent
TYPE_NAME = re.compile(r'^([A-Za-z]\w*(?:::\w+)+):', re.MULTILINE)


@functools.cache
def _text(path: pathlib.Path) -> str:
    return path.read_text(encoding='utf-8')


@functools.cache
def files() -> Mapping[str, pathlib.Path]:
    """Type name -> the file that describes it."""
    return {name: path for path in sorted(FOLDER.glob('*.yaml'))
            for name in TYPE_NAME.findall(_text(path))}


def _only(text: str, type_name: str) -> str:
    """`text` with its families and one type; the lines of the others are empty, so that numbers stay."""
    wanted, kept = False, []
    for line in text.split('\n'):
        if line and not line[0].isspace() and line[0] != '#':
            wanted = line.startswith((f'{description.FAMILIES}:', f'{type_name}:'))
        kept.append(line if wanted else '')
    return '\n'.join(kept)


@functools.cache
def description_of(type_name: str) -> TypeDescription:
    """Raise KeyError, or DescriptionError."""
    path = files()[type_name]
    document = description.DescriptionFile(_only(_text(path), type_name), path.name)
    _load_hooks(path.stem)
    return description.compiled(type_name, document.values[type_name], document, document.file)


@functools.cache
def _load_hooks(name: str) -> None:
    if FOLDER.joinpath(f'{name}_hooks.py').exists():
        whole(f'{__package__}.{name}_hooks')


class _Mapping(Mapping[str, object]):
    """Makes the class of a type when it is asked for."""

    def __getitem__(self, type_name: str) -> object:
        return built_in(type_name)

    def __iter__(self) -> Iterator[str]:
        return packed.names()

    def __len__(self) -> int:
        return sum(1 for _name in self)


def resource_mapping() -> Mapping[str, object]:
    return _Mapping()


@functools.cache
def built_in(type_name: str) -> object:
    """The class of a type that has no module of its own: described, or a placeholder."""
    facts = packed.facts(type_name)
    if type_name in files():
        return class_of(description_of(type_name), facts)
    return placeholders.class_of(facts, members_of(facts))


def class_of(what: TypeDescription, facts: packed.PackedFacts) -> type[described_resource.DescribedResource]:
    """The class of one type: `facts` say what it looks like, `what` how it lives."""
    members = {**members_of(facts), '__doc__': what.about or f'{what.name}.', '__module__': described_resource.__name__,
               'description': what, 'rule_facts': tuple(facts.get('translation_rules', ())),
               'entity': facts.get('entity') or what.path, 'repaired_in_place': what.repaired_in_place}
    if what.name_limit is not None:
        members['physical_resource_name_limit'] = what.name_limit
    members.update(_handlers(what))
    return type(facts.get('class_name') or what.name.rpartition('::')[2], (described_resource.DescribedResource,),
                members)


def members_of(facts: packed.PackedFacts) -> dict[str, object]:
    """Return the members that the classes of all described types have, from the facts of the catalogue."""
    return {
        'properties_schema': {name: packed.schema(body) for name, body in facts.get('properties', {}).items()},
        'attributes_schema': catalogue.attributes_of(facts),
        'update_policy_schema': {name: packed.schema(body) for name, body in facts.get('update_policy', {}).items()},
        'support_status': packed.status(facts.get('support_status')),
        'default_client_name': facts.get('default_client_name'), 'entity': facts.get('entity'),
        'required_service_extension': facts.get('required_service_extension'),
        'reference_kind': facts.get('reference', {}).get('kind', 'physical_id'),
        'reference_before': facts.get('reference', {}).get('before_create'),
        **facts.get('class_flags', {}),
    }


def _handlers(what: TypeDescription) -> dict[str, object]:
    """Handlers a type has only when its description says what they do; the engine asks whether they exist."""
    found: dict[str, object] = {}
    if not what.update and not what.follow and 'update' not in what.hooks:
        found['handle_update'] = resource.Resource.handle_update        # every change replaces
    if what.healthy is not None:
        found['handle_check'] = actions.check_health
    if what.suspend:
        found['handle_suspend'] = actions.suspend
    if what.resume:
        found['handle_resume'] = actions.resume
    return found
