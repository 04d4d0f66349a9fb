"""Makes the requests to a service: a description and the properties of a resource in, requests out.

Sends no request itself. The lists that some sub-collections are compared with are read through a callable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest import hooks
from heatlite.engine.resources.rest.bodies import without_nulls
from heatlite.engine.resources.rest.calls import CallTemplate, DescribedCall, first_that_applies
from heatlite.engine.resources.rest.description import TypeDescription
from heatlite.engine.resources.rest.subresources import items, without
from heatlite.engine.resources.rest.templating import TemplatingScope, fill

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

Read = Callable[[DescribedCall], object]


def create(what: TypeDescription, scope: TemplatingScope, subject: DescribedResource | None = None) -> DescribedCall:
    """`subject`: the resource, for hooks."""
    assert what.create is not None
    call = what.create.fill(scope)
    if what.create.body is None:
        call = replace(call, body=wrapped(what, new_body(what, scope, subject)))
    call = hooks.changed(what, 'create', call, subject)
    return versioned(what, call, scope.properties)


def new_body(what: TypeDescription, scope: TemplatingScope,
             subject: DescribedResource | None = None) -> dict[str, object]:
    """The fields of a new thing, without the key around them."""
    followed = {follow.property for follow in what.follow if not follow.in_create}
    given = {name: value for name, value in scope.properties.items()
             if name not in followed and name not in what.ignore}
    if what.name_property in given:
        given[what.name_property] = scope.value('name')
    body = {**what.rules.render(given), **fill(what.constants, scope)}
    if what.mark and what.mark not in body:
        body[what.mark] = scope.value('physical_name')
    changed: dict[str, object] = hooks.changed(what, 'body', body, subject, given, 'create')
    return changed


NOTHING_THERE = 404             # the answer to a reset where nothing differs from the defaults


def update(what: TypeDescription, scope: TemplatingScope, changed: Mapping[str, object],
           subject: DescribedResource | None = None) -> list[DescribedCall]:
    """The calls on the object itself; `scope.properties` are the wanted ones."""
    body = changed_body(what, scope, changed, subject)
    calls = []
    if what.delete is not None and _is_reset(what, changed):
        call = what.delete.fill(scope)
        calls.append(replace(call, ignore=(*call.ignore, NOTHING_THERE)))
    for template in what.update:
        if not template.applies(scope):
            continue
        if template.body is not None:
            if not touches(what, template, changed):
                continue
            calls.append(template.fill(scope))
        elif body:
            calls.append(_with_content(what, template.fill(scope), body))
    return [versioned(what, call, scope.properties) for call in hooks.changed(what, 'update', calls, subject, changed)]


def _is_reset(what: TypeDescription, changed: Mapping[str, object]) -> bool:
    """Whether something was removed that gets its default only with everything else, which is then set again."""
    return what.update_nulls == 'reset' and None in changed.values()


def touches(what: TypeDescription, template: CallTemplate, changed: Mapping[str, object]) -> bool:
    """A call with a body of its own is made when something changed that no sub-collection takes care of."""
    followed = {follow.property for follow in what.follow}
    return any(name not in followed and name not in what.ignore for name in changed)


def changed_body(what: TypeDescription, scope: TemplatingScope, changed: Values,
                 subject: DescribedResource | None = None) -> dict[str, object]:
    """The fields an update sends: what changed, everything, or the groups of which something changed."""
    followed = {follow.property for follow in what.follow}
    names = [name for name in changed if name not in followed and name not in what.ignore]
    if not names:
        return {}
    if what.send == 'all' or _is_reset(what, changed):
        names = [name for name in scope.properties if name not in followed and name not in what.ignore]
    elif isinstance(what.send, list):
        names += [name for group in what.send if set(group) & set(names) for name in group if name not in names]
    given = {name: changed[name] if name in changed and what.send != 'all' else scope.properties.get(name)
             for name in names}
    if what.name_property in given:
        given[what.name_property] = scope.value('name')
    if what.send != 'all':
        given = {name: what.removed.get(name) if value is None else value for name, value in given.items()
                 if value is not None or name not in what.not_reset}
    for name in what.rules.spread & set(given):
        old = scope.known.get('old')
        before = (old.get(name) if isinstance(old, Mapping) else None) or {}
        wanted = given[name] or {}
        entries = {key: value for key, value in wanted.items() if before.get(key) != value}
        if what.patch is not None:
            entries.update({key: None for key in before if key not in wanted})
        given[name] = entries
    body = what.rules.render(given, keep_nulls=what.update_nulls == 'send' and what.send != 'all')
    if what.send == 'all':
        body.update(fill(what.constants, scope))
    fields: dict[str, object] = hooks.changed(what, 'body', body, subject, given, 'update')
    return fields


def _with_content(what: TypeDescription, call: DescribedCall, body: Mapping[str, object]) -> DescribedCall:
    if what.patch is None:
        return replace(call, body=wrapped(what, body))
    operation = what.patch.get('op', 'replace')
    changes = [{'op': 'remove', 'path': f'/{name}'} if value is None else
               {'op': operation, 'path': f'/{name}', 'value': value} for name, value in body.items()]
    return replace(call, body=changes,
                   headers={'Content-Type': what.patch.get('type', 'application/json-patch+json')})


def wrapped(what: TypeDescription, body: object) -> object:
    return {what.key: body} if what.key else body


def follow(what: TypeDescription, scope: TemplatingScope, wanted: Mapping[str, object],
           before: Mapping[str, object] | None,
           read: Read, names: set[str] | None = None, again: bool = False) -> list[DescribedCall]:
    """Calls for the sub-collections of `names` (default: all). `before` None: the thing was just made. `again`: all of
    them, whatever has changed."""
    calls: list[DescribedCall] = []
    for each in what.follow:
        if before is None:
            chosen, anew = not each.in_create, False
        else:
            anew = bool(names and set(each.depends) & names)
            chosen = anew or again or names is None or each.property in names
        if chosen:
            calls += each.calls(scope, _inner(what, each.property, wanted),
                                None if before is None else _inner(what, each.property, before), read, anew, again)
    return [versioned(what, call, scope.properties) for call in calls]


def added(what: TypeDescription, wanted: Values, before: Values) -> dict[str, object]:
    """The wanted values of the properties that sub-collections depend on, if an update adds items to one that nothing
    but the properties tells of."""
    found: dict[str, object] = {}
    for each in what.follow:
        if each.drop and each.live is None and (_is_elsewhere(each.depends, wanted, before) or without(
                items(_inner(what, each.property, wanted)), items(_inner(what, each.property, before)))):
            found.update({name: wanted.get(name) for name in (each.property, *each.depends)})
    return found


def dropped(what: TypeDescription, scope: TemplatingScope, begun: Mapping[str, object]) -> list[DescribedCall]:
    """Calls that take away the items of `begun`, a value of `added`, but for those of `scope.properties` at the same
    place."""
    calls: list[DescribedCall] = []
    wanted = scope.properties
    for each in what.follow:
        if each.property in begun:
            stays = () if _is_elsewhere(each.depends, wanted, begun) else _inner(what, each.property, wanted)
            calls += each.dropped(scope, stays, _inner(what, each.property, begun))
    return [versioned(what, call, scope.properties) for call in calls]


def _is_elsewhere(names: Iterable[str], some: Mapping[str, object], others: Mapping[str, object]) -> bool:
    return any(without_nulls(some.get(name)) != without_nulls(others.get(name)) for name in names)


def _inner(what: TypeDescription, name: str, properties: Mapping[str, object]) -> object:
    return what.rules.inner(name, properties.get(name))


def before_delete(what: TypeDescription, scope: TemplatingScope, read: Read) -> list[DescribedCall]:
    """Return the calls that delete what must be deleted before the object itself."""
    calls = [call for each in what.follow if what.delete_follow or each.before_delete
             for call in each.calls(scope, [], _inner(what, each.property, scope.properties), read)]
    for step in what.before_delete:
        items: Iterable[object] = [None]
        if step['each']:
            answers = [read(source.fill(scope)) for source in step['each']]
            items = [item for answer in answers if isinstance(answer, Iterable) for item in answer]
        elif step['property']:
            items = scope.properties.get(step['property']) or ()
        for item in items:
            within = scope.having(item=item)
            calls += first_that_applies(step['call'], within)
    return [versioned(what, call, scope.properties) for call in calls]


def versioned(what: TypeDescription, call: DescribedCall, given: Mapping[str, object]) -> DescribedCall:
    """`call` at the lowest version of the API that knows all that was given."""
    wanted = [what.microversion, *(version for name, version in what.microversions.items()
                                   if given.get(name) is not None)]
    known = [version for version in wanted if version]
    if call.microversion or not known or call.service:
        return call
    return replace(call, microversion=max(known, key=lambda version: [int(part) for part in version.split('.')]))
