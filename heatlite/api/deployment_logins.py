"""Hides the logins of deployments in configs, and in the metadata of servers.

The config that a deployment derives for its server has inputs with which the agent signals the result. A caller without
the rule `policy.SHOW_ACCESS` would become a user of the stack by them, for as long as the stack exists.
"""

from __future__ import annotations

from collections.abc import Mapping

from heatlite.language.hiding import HIDDEN_TEXT
from heatlite.language.masking import Mask

DEPLOY = 'deploy_'                      # beginning of the names of inputs that every deployment gets
# Those of them that give access to nothing.
PUBLIC_INPUTS = frozenset({'deploy_server_id', 'deploy_action', 'deploy_stack_id', 'deploy_resource_name',
                           'deploy_signal_transport', 'deploy_signal_verb', 'deploy_region_name'})
VALUES = ('value', 'default')           # keys of an input
DEPLOYMENTS = 'deployments'             # key of the metadata of a server: its deployed configs


def without_logins(config: Mapping[str, object]) -> dict[str, object]:
    """Return a config as clients see it, without the values of its inputs that give access, also where it repeats
    them."""
    given = config.get('inputs')
    if not isinstance(given, list) or not any(map(_gives_access, given)):
        return dict(config)
    inputs = [_without_value(each) for each in given]
    mask = Mask([each.get(key) for each in given if _gives_access(each) for key in VALUES])
    return {**config, 'inputs': mask(inputs), 'config': mask(config.get('config')),
            'options': mask(config.get('options'))}


def metadata_without_logins(metadata: Mapping[str, object]) -> Mapping[str, object]:
    """Return the metadata of a server without the logins in its deployed configs."""
    deployed = metadata.get(DEPLOYMENTS)
    if not isinstance(deployed, list):
        return metadata
    return {**metadata, DEPLOYMENTS: [without_logins(each) if isinstance(each, Mapping) else each for each in deployed]}


def _gives_access(entry: object) -> bool:
    name = entry.get('name') if isinstance(entry, Mapping) else None
    return isinstance(name, str) and name.startswith(DEPLOY) and name not in PUBLIC_INPUTS


def _without_value(entry: object) -> object:
    if not isinstance(entry, Mapping) or not _gives_access(entry):
        return entry
    return {**entry, **{key: HIDDEN_TEXT for key in VALUES if entry.get(key)}}
