"""The engine of collections: create, list, show, update and delete of things that a `Kind` describes.

What is special about a kind is a subclass that overrides `prepare`, `started`, `changing`, `leaving`, `left`, `view`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cloudsim import listing
from cloudsim.kind import Kind
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound, Problem, Reply, class_name
from cloudsim.store import Table, Thing

if TYPE_CHECKING:
    from cloudsim.cloud import Cloud
    from cloudsim.service import Service

OK, CREATED, NO_CONTENT = 200, 201, 204


class Collection:
    """One kind, its table, and the HTTP methods on it."""

    filters = True                          # a list heeds the fields that its query names

    def __init__(self, cloud: Cloud, service: Service, kind: Kind) -> None:
        self.cloud = cloud
        self.service = service
        self.kind = kind
        self.table = Table(f'{service.name}.{kind.name}', (*kind.index, *kind.unique, *kind.refs))
        self.item_path = f'{kind.path}/{{id}}'

    def routes(self) -> list[tuple[str, str, Callable[..., Any]]]:
        """Method, path below the service, function."""
        verbs = self.kind.verbs
        found: list[tuple[str, str, Callable[..., Any]]] = []
        if 'L' in verbs:
            found.append(('GET', self.kind.path, self.do_list))
        if 'C' in verbs:
            found.append(('POST', self.kind.path, self.do_create))
        if 'R' in verbs:
            found.append(('GET', self.item_path, self.do_show))
        if 'U' in verbs:
            found += [(method, self.item_path, self.do_update) for method in self.kind.update]
        if 'D' in verbs:
            found.append(('DELETE', self.item_path, self.do_delete))
        return found

    # What HTTP asks for. The last argument of those on one thing is its id, those before are its parents'.

    def do_list(self, call: Call, *parents: str) -> Any:
        self.permit(call, 'L')
        return OK, listing.page(call, self, self.candidates(call, self.parent(call, parents)))

    def do_create(self, call: Call, *parents: str) -> Any:
        self.permit(call, 'C')
        thing = self.make(call, call.entity(self.kind.request_key), self.parent(call, parents))
        shown = self.view(call, thing)
        if self.kind.answer:
            shown = {name: shown[name] for name in self.kind.answer}
        return self.kind.codes.get('create', CREATED), self.wrap(shown)

    def do_show(self, call: Call, *ids: str) -> Any:
        self.permit(call, 'R')
        return OK, self.wrap(self.view(call, self.of_path(call, ids)))

    def do_update(self, call: Call, *ids: str) -> Any:
        self.permit(call, 'U')
        thing = self.of_path(call, ids)
        if self.kind.patch:
            changes = patched(thing.data, call.json)
        else:
            changes = dict(call.entity(self.kind.request_key))
        self.amend(call, thing, changes)
        return self.kind.codes.get('update', OK), self.wrap(self.view(call, thing))

    def do_delete(self, call: Call, *ids: str) -> Any:
        self.permit(call, 'D')
        self.discard(call, self.of_path(call, ids))
        return Reply(self.kind.codes.get('delete', NO_CONTENT))

    # The life of a thing, for this and other services.

    def make(self, call: Call, given: dict[str, Any], parent: str | None = None, id: str | None = None) -> Thing:
        """A new thing, `id` for one that the service chose itself. Raises Problem; then nothing has changed."""
        kind = self.kind
        self.check(given)
        for name in kind.required:
            if given.get(name) in (None, ''):
                raise BadRequest(f"Failed to parse request. Required attribute '{name}' not specified.")
        data = kind.blank()
        data.update(given)
        self.check_refs(call, given)
        owner = self.owner(call, given)
        for field in kind.owner if kind.scope == 'project' else ():
            data[field] = owner
        self.check_quota(call, owner)
        hidden: dict[str, Any] = {'parent': parent} if parent is not None else {}
        id = id or self.new_id(data)
        data[kind.id] = id
        thing = Thing(id, owner, data, hidden)
        self.prepare(call, thing, given)
        self.check_unique(thing, thing.data)
        for field in kind.stamps:
            if kind.stamps[field] == 'created' or field not in kind.fields:
                data[field] = self.cloud.clock.stamp(kind.stamp_form)
        if thing.id in self.table.things:
            raise Conflict(f'{kind.title} {thing.id} already exists.')
        self.table.add(thing)
        self.work(call, thing, 'create')
        self.started(call, thing)
        return thing

    def amend(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        kind = self.kind
        self.check(changes)
        for name in kind.fixed:
            if name in changes and changes[name] != thing.data.get(name):
                raise BadRequest(f'Cannot update read-only attribute {name}')
        changes.pop(kind.id, None)
        self.check_refs(call, changes)
        self.changing(call, thing, changes)
        self.check_unique(thing, changes)
        for field in kind.stamps:
            if kind.stamps[field] == 'updated':
                changes[field] = self.cloud.clock.stamp(kind.stamp_form)
        self.table.change(thing, **changes)
        self.work(call, thing, 'update')
        self.changed(call, thing)

    def discard(self, call: Call, thing: Thing) -> None:
        """Deletes it now, or starts to."""
        self.check_held(thing)
        self.leaving(call, thing)
        if self.kind.states is not None and 'delete' in self.kind.states.busy:
            self.work(call, thing, 'delete')
        else:
            self.drop(thing)

    def drop(self, thing: Thing) -> None:
        """Gone, with what lives below it."""
        if not thing.alive:
            return
        self.table.remove(thing)
        for child in self.service.children(self.kind.name):
            for each in child.table.find('parent', thing.id):
                child.drop(each)
        self.left(thing)

    # What happens by itself.

    def work(self, call: Call, thing: Thing, verb: str, *, seconds: float | None = None, ready: str | None = None,
             then: Callable[[], None] | None = None) -> None:
        """Starts a change of state as `states` says; a fault of the request may keep it from ending well.

        `ready` instead of the described state at the end; `then` is done when it ends well.
        """
        states = self.kind.states
        if states is None or verb not in states.busy:
            if then is not None:
                then()
            return
        self.set_state(thing, states.busy[verb])
        if verb == 'delete':
            self.finish(call, thing, states.failed_after(verb), lambda: self.drop(thing), seconds)
            return

        def done() -> None:
            end = ready or states.ready_after(verb)
            if end is not None:
                self.set_state(thing, end)
            if then is not None:
                then()

        self.finish(call, thing, states.failed_after(verb), done, seconds)

    def finish(self, call: Call, thing: Thing, failed: str, done: Callable[[], None],
               seconds: float | None = None) -> None:
        """`done` after the kind's delay, unless it is gone or busy with something else by then."""
        states = self.kind.states
        assert states is not None
        thing.task += 1
        task, fault = thing.task, call.fault
        if fault is not None and fault.kind == 'stay':
            return
        if seconds is None:
            seconds = self.cloud.settings.delay(states.seconds)
        error = fault.text if fault is not None and fault.kind == 'fail' else self.own_fault(thing)

        def end() -> None:
            if not thing.alive or thing.task != task:
                return
            if error is not None:
                self.fail(thing, failed, error)
            else:
                done()

        if seconds <= 0:
            end()
        else:
            self.cloud.clock.after(seconds, end)

    def set_state(self, thing: Thing, state: str) -> None:
        states = self.kind.states
        assert states is not None
        self.table.change(thing, **{states.field: state}, **states.also.get(state, {}))

    def fail(self, thing: Thing, state: str, text: str) -> None:
        states = self.kind.states
        assert states is not None
        self.set_state(thing, state)
        if states.reason:
            self.table.change(thing, **{states.reason: text})

    # For subclasses.

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        """Completes a new thing or refuses it; `given` is what the request said. Nothing is stored yet."""

    def started(self, call: Call, thing: Thing) -> None:
        """It is stored."""

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        """Looks at changes before they are made; may refuse or complete them."""

    def changed(self, call: Call, thing: Thing) -> None:
        """They are made."""

    def leaving(self, call: Call, thing: Thing) -> None:
        """May refuse a delete."""

    def left(self, thing: Thing) -> None:
        """It is gone."""

    def own_fault(self, thing: Thing) -> str | None:
        """The text of a failure the thing asks for itself (`cloud_fault` in its metadata)."""
        return None

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        """What a request sees of it."""
        return thing.data

    def summary(self, call: Call, thing: Thing) -> dict[str, Any]:
        """What a list shows of it."""
        return self.view(call, thing)

    def filterable(self, thing: Thing, name: str) -> Any:
        """The value a list's query parameter of this name looks at."""
        return thing.data.get(name, listing.MISSING)

    # Checks.

    def permit(self, call: Call, verb: str) -> None:
        if verb in self.kind.admin and not call.is_admin:
            raise Forbidden

    def check(self, given: dict[str, Any]) -> None:
        kind = self.kind
        for name in given:
            if name in kind.readonly:
                raise BadRequest(f"Attribute '{name}' not allowed in this request.")
            if kind.strict and name not in kind.fields and name not in kind.accepts and name not in kind.owner \
                    and name != 'name':
                raise BadRequest(f"Unrecognized attribute(s) '{name}'", 'HTTPBadRequest')
            if given[name] is None and not kind.takes_null(name):
                raise BadRequest(f"Invalid input for {name}. Reason: 'None' is not valid.", 'HTTPBadRequest')

    def check_refs(self, call: Call, given: dict[str, Any]) -> None:
        for field, kind in self.kind.refs.items():
            value = given.get(field)
            if not value:
                continue
            collection = self.service.collection(kind)
            if not isinstance(value, str) or collection.seen(call, value) is None:
                problem = NotFound(collection.kind.title, str(value))
                problem.status = self.kind.bad_ref
                raise problem

    def check_unique(self, thing: Thing, given: dict[str, Any]) -> None:
        for field in self.kind.unique:
            value = given.get(field)
            if value is None:
                continue
            for other in self.table.find(field, value):
                if other is not thing and other.project_id == thing.project_id \
                        and other.hidden.get('parent') == thing.hidden.get('parent') \
                        and all(other.get(each) == thing.get(each) for each in self.kind.within):
                    raise Conflict(f'{self.kind.title} with {field} {value} already exists.',
                                   class_name(self.kind.title) + 'Exists')

    def check_held(self, thing: Thing) -> None:
        for name in self.kind.held_by:
            kind, field = name.rsplit('.', 1)
            table = self.cloud.table(kind) if '.' in kind else self.service.collection(kind).table
            if table.find(field, thing.id):
                raise Conflict(f'{self.kind.title} {thing.id} is in use.', class_name(self.kind.title) + 'InUse')

    def check_quota(self, call: Call, owner: str | None) -> None:
        if call.fault is not None and call.fault.kind == 'quota':
            raise self.service.over_quota(self.kind.quota or self.kind.name)
        if self.kind.quota is not None:
            self.service.charge(owner, self.kind.quota, self.table.count('project_id', owner), 1)

    # Finding.

    def parent(self, call: Call, ids: tuple[str, ...]) -> str | None:
        """The id of the nearest parent, after a look that all of them are there."""
        found = None
        for kind, id in zip(self.kind.parents.values(), ids, strict=False):
            found = self.service.collection(kind).get(call, id).id
        return found

    def of_path(self, call: Call, ids: tuple[str, ...]) -> Thing:
        parent = self.parent(call, ids[:-1])
        thing = self.get(call, ids[-1])
        if parent is not None and thing.hidden.get('parent') != parent:
            raise NotFound(self.kind.title, ids[-1])
        return thing

    def get(self, call: Call, id: str) -> Thing:
        """Raises NotFound, also for what the caller may not see."""
        thing = self.seen(call, id)
        if thing is None:
            raise NotFound(self.kind.title, id)
        return thing

    def seen(self, call: Call, id: str) -> Thing | None:
        thing = self.table.get(id)
        if thing is None and self.kind.by_name:
            thing = next((each for each in self.table.find('name', id) if self.is_visible(call, each)), None)
        return thing if thing is not None and self.is_visible(call, thing) else None

    def is_visible(self, call: Call, thing: Thing) -> bool:
        if call.is_admin or self.kind.scope != 'project' or thing.project_id == call.project_id:
            return True
        return any(thing.data.get(field) == value for field, value in self.kind.visible.items())

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        """What a list may show: of this parent, or of the project (for admins: of all, when the service does so)."""
        if parent is not None:
            return self.table.find('parent', parent)
        everything = self.kind.scope != 'project' or (call.is_admin and (
            self.kind.see_all or call.is_asked('all_tenants', 'all_projects')))
        for field, values in call.query.items():        # one value of an indexed field: no need to look at all
            if len(values) == 1 and values[0] and field != 'project_id' and self.table.is_indexed(field) \
                    and values[0].lower() not in ('true', 'false') and not values[0].startswith('in:'):
                # Booleans are kept as they are and asked for as text; `in:` names several values.
                return [thing for thing in self.table.find(field, values[0])
                        if everything or self.is_listed(call, thing)]
        if everything:
            return list(self.table.things.values())
        if not self.kind.visible:
            return self.table.find('project_id', call.project_id)
        own = {thing.id: thing for thing in self.table.find('project_id', call.project_id)}
        for field, value in self.kind.visible.items():
            for thing in self.table.find(field, value):
                own.setdefault(thing.id, thing)
        return list(own.values())

    def is_listed(self, call: Call, thing: Thing) -> bool:
        return thing.project_id == call.project_id or any(
            thing.data.get(field) == value for field, value in self.kind.visible.items())

    # Small parts.

    def new_id(self, data: dict[str, Any]) -> str:
        form = self.kind.id_form
        if form == 'name':
            return str(data['name'])
        if form == 'given' and data.get(self.kind.id):
            return str(data[self.kind.id])
        id = self.cloud.uuid()
        return id.replace('-', '') if form == 'hex' else id

    def owner(self, call: Call, given: dict[str, Any]) -> str | None:
        """The project of a new thing: the caller's; an admin may say another."""
        if self.kind.scope != 'project':
            return None
        said = next((given[field] for field in self.kind.owner if given.get(field)), None)
        if said is None or said == call.project_id:
            return call.project_id
        if not call.is_admin:
            raise Forbidden
        return str(said)

    def wrap(self, shown: dict[str, Any]) -> dict[str, Any]:
        key = self.kind.item_key
        return shown if key is None else {key: shown}


def patched(data: dict[str, Any], operations: Any) -> dict[str, Any]:
    """The changes that a JSON patch (RFC 6902: add, replace, remove) makes at the top, or below it."""
    if not isinstance(operations, list):
        raise BadRequest('Request body must be a JSON array of operation objects.')
    changes: dict[str, Any] = {}
    for operation in operations:
        try:
            verb, path = operation['op'], [part.replace('~1', '/').replace('~0', '~')
                                           for part in operation['path'].lstrip('/').split('/')]
        except (KeyError, TypeError, AttributeError):
            raise BadRequest('Invalid operation.') from None
        if verb not in ('add', 'replace', 'remove') or (verb != 'remove' and 'value' not in operation):
            raise BadRequest(f'Unknown operation {verb}')
        top = path[0]
        if len(path) == 1:
            if verb != 'add' and top not in data and top not in changes:
                raise Problem(409, f'Property {top} does not exist.')
            changes[top] = None if verb == 'remove' else operation['value']
            continue
        inner = changes.get(top, data.get(top))
        changes[top] = _inside(inner, path[1:], verb, operation.get('value'))
    return changes


def _inside(inner: Any, path: list[str], verb: str, value: Any) -> Any:
    if len(path) > 1:
        if not isinstance(inner, dict):
            raise BadRequest('Invalid path.')
        return {**inner, path[0]: _inside(inner.get(path[0]), path[1:], verb, value)}
    if isinstance(inner, list):
        copied = list(inner)
        if verb == 'remove':
            del copied[int(path[0])]
        elif path[0] == '-':
            copied.append(value)
        elif verb == 'add':
            copied.insert(int(path[0]), value)
        else:
            copied[int(path[0])] = value
        return copied
    copied_map = dict(inner or {})
    if verb == 'remove':
        copied_map.pop(path[0], None)
    else:
        copied_map[path[0]] = value
    return copied_map
