"""Renames resources in a template: their entries, and what refers to them by a name in the text.

A name that is computed is not found; the template then refers to a resource that it does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.language.template import Template

BY_NAME = frozenset({'get_resource', 'Ref'})            # functions whose argument is the name of a resource
BY_FIRST = frozenset({'get_attr', 'Fn::GetAtt'})        # functions whose first argument is


def renamed(template: Template, names: Mapping[str, str]) -> dict[str, object]:
    """Return the document of a template in which resources have other names. `names`: old -> new; may swap names."""
    keys, document = template.keys, template.document
    resources = document.get(keys.resources)
    if not isinstance(resources, Mapping):
        return dict(document)
    found: dict[str, object] = {}
    for name, entry in resources.items():
        after = _within(entry, names)
        if isinstance(after, dict) and keys.depends_on in after:
            after[keys.depends_on] = _listed(after[keys.depends_on], names)
        found[names.get(name, name)] = after
    return {**{key: _within(value, names) if key == keys.outputs else value for key, value in document.items()},
            keys.resources: found}


def _within(value: object, names: Mapping[str, str]) -> object:
    """Return a part of a template with other names in the functions that refer to resources."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            [(key, argument)] = value.items()
            if key in BY_NAME and isinstance(argument, str):
                return {key: names.get(argument, argument)}
            if key in BY_FIRST and isinstance(argument, list) and argument and isinstance(argument[0], str):
                return {key: [names.get(argument[0], argument[0]), *(_within(each, names) for each in argument[1:])]}
        return {key: _within(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_within(each, names) for each in value]
    return value


def _listed(depends: object, names: Mapping[str, str]) -> object:
    if isinstance(depends, str):
        return names.get(depends, depends)
    if isinstance(depends, list):
        return [names.get(each, each) if isinstance(each, str) else each for each in depends]
    return depends


def renamed_registry(registry: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """Return the `resource_registry` of an environment in which the entries of resources have other names.

    The former names are in it with null, so that it can be laid over the registry (`registry.layered`)."""
    resources = registry.get('resources')
    if not isinstance(resources, Mapping):
        return dict(registry)
    renamed = {names.get(name, name): entry for name, entry in resources.items()}
    return {**registry, 'resources': {**dict.fromkeys(resources.keys() - renamed.keys()), **renamed}}
