"""Parses environment documents and validates their sections."""

from __future__ import annotations

import yaml

from heatlite.common.i18n import _

PARAMETERS = 'parameters'
RESOURCE_REGISTRY = 'resource_registry'
PARAMETER_DEFAULTS = 'parameter_defaults'
ENCRYPTED_PARAM_NAMES = 'encrypted_param_names'
EVENT_SINKS = 'event_sinks'
PARAMETER_MERGE_STRATEGIES = 'parameter_merge_strategies'

SECTIONS: dict[str, type] = {               # name -> kind
    PARAMETERS: dict,
    RESOURCE_REGISTRY: dict,
    PARAMETER_DEFAULTS: dict,
    ENCRYPTED_PARAM_NAMES: list,
    EVENT_SINKS: list,
    PARAMETER_MERGE_STRATEGIES: dict,
}


class _Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):  # type: ignore[misc]
    """Leaves dates and times as the text they were written as."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != 'tag:yaml.org,2002:timestamp']
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()}


def parse(env_str: str) -> dict[str, object]:
    """Parse a document into a map of known sections; an empty text is an empty map. Raises ValueError."""
    try:
        found = yaml.load(env_str, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error))
    return validate({} if found is None else found)


def validate(environment: object) -> dict[str, object]:
    if not isinstance(environment, dict):
        raise ValueError(_('The environment is not a valid YAML mapping data type.'))
    for name, value in environment.items():
        if name not in SECTIONS:
            raise ValueError(_('environment has wrong section "%s"') % name)
        if value is None:
            raise ValueError(_('environment has empty section "%s"') % name)
    return environment


def default_for_missing(environment: dict[str, object]) -> None:
    """Add an empty section for each that is missing."""
    for name, kind in SECTIONS.items():
        environment.setdefault(name, kind())
