"""The steps of an update of a database server, in their order. Every step may be sent again after a restart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from heatlite.engine.clients.os import collection, service
from heatlite.engine.clients.os.collection import without_none
from heatlite.engine.resources.steps import StoredStep

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.openstack.trove.instance import Instance


class InstanceStep(StoredStep, total=False):
    name: str | None
    flavor: str
    size: int                               # GiB
    wanted: list[Values]            # databases or users, as the service takes them
    passwords: list[str]            # names of the users whose password is another one


def user_body(user: Values) -> dict[str, object]:
    return {**without_none(user), 'databases': [{'name': name} for name in user.get('databases') or ()]}


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


def _path(instance: Instance, *parts: str) -> str:
    return collection.path_of('instances', instance.resource_id, *parts)


def _key(there: Values) -> str:
    """The part of a path that means a database, or a user, whose host belongs to it."""
    return f'{there["name"]}@{there["host"]}' if there.get('host') else str(there['name'])


def _make_equal(instance: Instance, what: str, wanted: Mapping[str, Values]) -> dict[str, Values]:
    """Creates what the instance lacks and deletes what is not wanted. `what`: databases or users; `wanted`: by name.

    Returns what was there before and stays, by name."""
    http = instance.client().http
    there = {str(each['name']): each for each in http.get(_path(instance, what)).json()[what]}
    missing = [body for name, body in wanted.items() if name not in there]
    if missing:
        http.post(_path(instance, what), json={what: missing})
    for name in there.keys() - set(wanted):
        with instance.client_plugin().ignore_not_found:
            http.delete(_path(instance, what, _key(there[name])))
    return {name: each for name, each in there.items() if name in wanted}


def _by_name(step: InstanceStep) -> dict[str, Values]:
    return {each['name']: each for each in step['wanted']}


def _databases(instance: Instance, step: InstanceStep) -> None:
    _make_equal(instance, 'databases', _by_name(step))


def _users(instance: Instance, step: InstanceStep) -> None:
    """New ones are made, gone ones deleted, of the others the password, the host and the grants are made so.

    The service refuses the name and the host that a user has already."""
    wanted, http = _by_name(step), instance.client().http
    passwords = step.get('passwords', list(wanted))
    for name, there in _make_equal(instance, 'users', wanted).items():
        body = wanted[name]
        host = body.get('host') if body.get('host') != there.get('host') else None
        change = without_none({'password': body.get('password') if name in passwords else None, 'host': host})
        if change:
            http.put(_path(instance, 'users', _key(there)), json={'user': change})
        _grant(instance, _key({**there, **without_none({'host': host})}), {each['name'] for each in body['databases']})


def _grant(instance: Instance, user: str, asked: set[str]) -> None:
    """`user`: its key in paths; `asked`: names of the databases that it may use."""
    http, path = instance.client().http, _path(instance, 'users', user, 'databases')
    granted = {str(each['name']) for each in http.get(path).json()['databases']}
    if asked - granted:
        http.put(path, json={'databases': [{'name': each} for each in sorted(asked - granted)]})
    for each in sorted(granted - asked):
        http.delete(f'{path}{collection.path_of(each)}')


STEPS: dict[str, Callable[[Instance, InstanceStep], None]] = {
    'rename': _rename, 'flavor': _flavor, 'size': _size, 'databases': _databases, 'users': _users}
