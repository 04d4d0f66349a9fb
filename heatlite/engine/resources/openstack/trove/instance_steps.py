"""What an update of a database server does, one thing at a time. Every step may be sent again after a restart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from heatlite.engine.clients.os import service
from heatlite.engine.resources.steps import StoredStep

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.openstack.trove.instance import Instance


class InstanceStep(StoredStep, total=False):
    name: str | None
    flavor: str
    size: int                               # GiB
    wanted: list[Values]            # databases or users, as the service takes them
    before: list[str]


def plain(body: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in body.items() if value is not None}


def user_body(user: Values) -> dict[str, object]:
    return {**plain(user), 'databases': [{'name': name} for name in user.get('databases') or ()]}


def _is_what_it_is(error: BaseException) -> bool:
    """The service refuses a change to what is there already."""
    return service.status_of(error) in (400, 409) and any(
        word in str(error).lower() for word in ('no change', 'different', 'must be larger'))


def _rename(instance: Instance, step: InstanceStep) -> None:
    instance.client().instances.edit(instance.resource_id, name=step['name'])


def _flavor(instance: Instance, step: InstanceStep) -> None:
    try:
        instance.client().instances.resize_instance(instance.resource_id, step['flavor'])
    except Exception as error:
        if not _is_what_it_is(error):
            raise


def _size(instance: Instance, step: InstanceStep) -> None:
    try:
        instance.client().instances.resize_volume(instance.resource_id, step['size'])
    except Exception as error:
        if not _is_what_it_is(error):
            raise


def _inside(instance: Instance, what: str) -> tuple[str, list[dict[str, object]]]:
    path = f'/instances/{instance.resource_id}/{what}'
    return path, list(instance.client().http.get(path).json()[what])


def _make_equal(instance: Instance, what: str, wanted: Mapping[str, Values]) -> set[str]:
    """Creates what the instance lacks and deletes what is not wanted. `what`: databases or users; `wanted`: by name.

    Returns the names that were there before and stay."""
    path, there = _inside(instance, what)
    http = instance.client().http
    names = {str(each['name']) for each in there}
    missing = [body for name, body in wanted.items() if name not in names]
    if missing:
        http.post(path, json={what: missing})
    for name in names - set(wanted):
        with instance.client_plugin().ignore_not_found:
            http.delete(f'{path}/{name}')
    return names & set(wanted)


def _by_name(step: InstanceStep) -> dict[str, Values]:
    return {each['name']: each for each in step['wanted']}


def _databases(instance: Instance, step: InstanceStep) -> None:
    _make_equal(instance, 'databases', _by_name(step))


def _users(instance: Instance, step: InstanceStep) -> None:
    """New ones are made, gone ones deleted, of the others the password and the grants are made so."""
    wanted = _by_name(step)
    path, http = f'/instances/{instance.resource_id}/users', instance.client().http
    for name in _make_equal(instance, 'users', wanted):
        body = wanted[name]
        http.put(f'{path}/{name}', json={'user': plain({'name': name, 'password': body.get('password'),
                                                        'host': body.get('host')})})
        granted = {each['name'] for each in http.get(f'{path}/{name}/databases').json()['databases']}
        asked = {each['name'] for each in body['databases']}
        if asked - granted:
            http.put(f'{path}/{name}/databases',
                     json={'databases': [{'name': each} for each in sorted(asked - granted)]})
        for each in sorted(granted - asked):
            http.delete(f'{path}/{name}/databases/{each}')


STEPS: dict[str, Callable[[Instance, InstanceStep], None]] = {
    'rename': _rename, 'flavor': _flavor, 'size': _size, 'databases': _databases, 'users': _users}
