"""Software configs and deployments as clients see them: in answers of engines and APIs, and in metadata of servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, Required, TypedDict

from heatlite.common.timeutils import isotime
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment


class ConfigEntry(TypedDict, total=False):
    """An input or an output of a config. `value`: of an input of a derived config."""

    name: Required[str]
    type: str
    default: object
    description: str
    value: object
    replace_on_change: bool
    error_output: bool


class ShownConfig(TypedDict):
    """A config as clients see it; one that was not stored has neither id nor time."""

    id: NotRequired[str]
    name: str | None
    group: str | None
    config: object                           # a text, or for some groups a map
    inputs: list[ConfigEntry]
    outputs: list[ConfigEntry]
    options: dict[str, object]
    creation_time: NotRequired[str]


class ShownDeployment(TypedDict):
    """A deployment as clients see it."""

    id: str
    server_id: str
    config_id: str
    input_values: dict[str, object]
    output_values: Mapping[str, object] | None
    action: str | None
    status: str | None
    status_reason: str | None
    creation_time: str
    updated_time: NotRequired[str]


# Ways in which a server leaves the result of a deployment for the service to fetch.
SWIFT, ZAQAR = 'TEMP_URL_SIGNAL', 'ZAQAR_SIGNAL'


def place_of_result(config: Mapping[str, object]) -> tuple[str, str] | None:
    """Return where a server leaves the result of a deployment outside stacks, as its derived config says: SWIFT and the
    URL of an object, or ZAQAR and the name of a queue. None: it signals, or a resource of a stack fetches it."""
    entries = config.get('inputs')
    found = {entry.get('name'): entry.get('value') for entry in (entries if isinstance(entries, list) else ())
             if isinstance(entry, Mapping)}
    if 'deploy_stack_id' in found:
        return None
    for transport, name in ((SWIFT, 'deploy_signal_id'), (ZAQAR, 'deploy_queue_id')):
        place = found.get(name)
        if found.get('deploy_signal_transport') == transport and isinstance(place, str) and place:
            return transport, place
    return None


def shown_config(found: Config) -> ShownConfig:
    stored = found.config
    return {'id': found.id, 'name': found.name, 'group': found.group, 'creation_time': isotime(found.created_at),
            'config': stored.get('config'), 'inputs': stored.get('inputs') or [],
            'outputs': stored.get('outputs') or [], 'options': stored.get('options') or {}}


def shown_deployment(found: Deployment) -> ShownDeployment:
    shown: ShownDeployment = {
        'id': found.id, 'server_id': found.server_id, 'config_id': found.config_id,
        'input_values': dict(found.input_values or {}), 'output_values': found.output_values,
        'action': found.action, 'status': found.status, 'status_reason': found.status_reason,
        'creation_time': isotime(found.created_at)}
    if found.updated_at is not None:
        shown['updated_time'] = isotime(found.updated_at)
    return shown
