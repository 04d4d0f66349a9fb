"""Hides the values of hidden parameters where a client reads a stored environment (REST specification 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heatlite.language.template import is_template_name

HIDDEN = '******'

_SECTIONS: dict[str, type] = {'resource_registry': dict, 'parameters': dict, 'parameter_defaults': dict,
                              'event_sinks': list, 'encrypted_param_names': list}


def environment(stored: Mapping[str, Any], document: Mapping[str, Any], is_sealed: bool = False) -> dict[str, Any]:
    """`stored` with every section and without secrets. `document`: the template that declares the parameters; files
    that stand as types in it are in the registry, as clients know it.

    `is_sealed`: it is stored encrypted, which clients see by the names of hidden parameters.
    """
    shown = {name: stored.get(name) or kind() for name, kind in _SECTIONS.items()}
    files = {name: name for name in _types(document) if is_template_name(name)}
    shown['resource_registry'] = {'resources': {}, **files, **shown['resource_registry']}
    hidden = hidden_names(document)
    if is_sealed:
        shown['encrypted_param_names'] = sorted({*shown['encrypted_param_names'], *hidden & shown['parameters'].keys()})
    secret = hidden | set(shown['encrypted_param_names'])
    for section in ('parameters', 'parameter_defaults'):
        shown[section] = {name: HIDDEN if name in secret else value for name, value in shown[section].items()}
    return shown


def export(data: Mapping[str, Any]) -> dict[str, Any]:
    """An export document as snapshots show it, nested ones included."""
    shown = dict(data)
    if isinstance(data.get('environment'), Mapping):
        masked = environment(data['environment'], data.get('template') or {})
        shown['environment'] = {name: masked[name] for name in data['environment'] if name in masked}
    if isinstance(data.get('resources'), Mapping):
        shown['resources'] = {name: export(each) if isinstance(each, Mapping) and 'template' in each else each
                              for name, each in data['resources'].items()}
    return shown


def _types(document: Mapping[str, Any]) -> Iterator[Any]:
    resources = document.get('resources') or document.get('Resources') or {}
    for each in resources.values() if isinstance(resources, Mapping) else ():
        if isinstance(each, Mapping):
            yield each.get('type') or each.get('Type')


def hidden_names(document: Mapping[str, Any]) -> set[str]:
    """Parameters a template declares as hidden (HOT) or NoEcho (CFN)."""
    declared = document.get('parameters') or document.get('Parameters') or {}
    if not isinstance(declared, Mapping):
        return set()
    return {name for name, schema in declared.items()
            if isinstance(schema, Mapping) and (_is_true(schema.get('hidden')) or _is_true(schema.get('NoEcho')))}


def _is_true(value: Any) -> bool:
    return value is True or str(value).lower() in ('true', '1', 'yes', 'on')
