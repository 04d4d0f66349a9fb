"""Nested stacks, as `self.stack.nesting` offers them to the types that own one.

A nested stack is a stack with its own row and lease; it is created by the same use case as a user's stack, in process.
Every action returns a cookie of plain JSON, so that another engine that takes over the parent can go on waiting. The
parent's engine drives the child, and the step waits until there is room for it (`capacity`); an engine that is being
stopped wakes up others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.common.shared_computations import SharedComputations
from heatlite.common.template_files import Files
from heatlite.db import resource_data, resources, stack_trees, stacks, templates
from heatlite.db.connection import Database
from heatlite.engine.durability import fence
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.request_keys import FACADE, TOLERANCE, WAITING
from heatlite.engine.reconcile.settled import SettledStacks
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import Cookie
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.language import nested
from heatlite.language.definition import Facade, StackDefinition, StackIdentity
from heatlite.language.masking import Mask
from heatlite.language.template import Template
from heatlite.planning.states import Action, ResourceState, Status

Found = TypeVar('Found', stacks.StoredStack, stacks.Identity)


class ChildRequests(Protocol):
    """The use cases of nested stacks (`engine.requests.nested_stacks.NestedStacks`)."""

    def check_room(self, root_id: str, count: int, child_id: str | None = None) -> None: ...

    def create_child(self, parent: LeasedStack, resource_name: str, resource_uuid: str, name: str,
                     define: Callable[[StackIdentity], StackDefinition], request: Mapping[str, object], *,
                     timeout_mins: int | None, adopt: Mapping[str, object] | None) -> stacks.StoredStack: ...

    def update_child(self, parent: LeasedStack, stack_id: str, define: Callable[[StackIdentity], StackDefinition],
                     request: Mapping[str, object], *, timeout_mins: int | None, converge: bool,
                     is_signalled: bool) -> stacks.StoredStack: ...

    def act_on_child(self, parent: LeasedStack, stack_id: str, action: Action,
                     abandon: bool = False) -> stacks.StoredStack: ...

    def cancel_child(self, parent: LeasedStack, stack_id: str, generation: int) -> bool: ...

    def update_again(self, stack: LeasedStack, mark: Callable[[], None]) -> stacks.StoredStack: ...


@dataclass(eq=False)
class _Query:
    """Queries that share one SELECT. `stack_ids`: those that are asked for, until it is sent."""

    stack_ids: set[str] = field(default_factory=set)


class Children:
    """Reads the states of nested stacks, driven by any engine: concurrent queries share one SELECT, and its error."""

    GATHER = 0.01                                   # seconds to wait for further queries

    def __init__(self, runtime: Runtime, database: Database) -> None:
        self._runtime = runtime
        self._database = database
        self._next = _Query()
        self._reads: SharedComputations[Mapping[str, stacks.Identity]] = SharedComputations(runtime)

    def state(self, stack_id: str) -> stacks.Identity | None:
        """Return the state of a nested stack, also of a deleted one; None if its row is gone. Raises the error of the
        SELECT: that is not known then."""
        query = self._next
        query.stack_ids.add(stack_id)
        return self._reads.get(query, partial(self._read, query)).get(stack_id)

    def _read(self, query: _Query) -> Mapping[str, stacks.Identity]:
        self._runtime.sleep(self.GATHER)
        if self._next is query:                     # else the thread that read before was ended
            self._next = _Query()
        return self._database.retry_until_available(lambda tx: stack_trees.children(tx, query.stack_ids), reading=True)


class Nesting:
    """The nested stacks of one parent stack."""

    def __init__(self, parent: LeasedStack, requests: ChildRequests, children: Children, database: Database,
                 read: Callable[[str], Stack | None], max_depth: int, key: str) -> None:
        """`read(stack_id)`: returns the facade of a stack, for reading; `key`: of digests."""
        self._parent = parent
        self._requests = requests
        self._children = children
        self._database = database
        self._read = read
        self._max_depth = max_depth
        self._settled = SettledStacks(parent, database, key)
        self._has_read_secrets = False
        self._ours: set[str] = set()                # ids of stacks known to belong to the parent's project
        self._counted: dict[str, int] = {}          # resource -> number of members that was allowed

    # --- counting ---------------------------------------------------------------------------------------

    def check_room(self, resource: Resource, count: int) -> None:
        """Raise RequestLimitExceeded unless the nested stack of `resource` may have `count` resources.

        Call it before any of them is built. The request that follows does not count again.
        """
        if count > self._counted.get(resource.name, -1):
            self._requests.check_room(self._parent.row.root_id, count, resource.resource_id)
            self._counted[resource.name] = count

    def _check_counted(self, resource: Resource, template: Template) -> None:
        """Check the number of resources of a template before it is defined, unless it was allowed just now."""
        members = template.section('resources')
        self.check_room(resource, len(members) if isinstance(members, Mapping) else 0)
        self._counted.pop(resource.name, None)      # the tree grows: the next request is counted anew

    # --- actions ----------------------------------------------------------------------------------------

    def create(self, resource: Resource, template: Template, parameters: Mapping[str, object] | None = None, *,
               timeout_mins: int | None = None, adopt: Mapping[str, object] | None = None) -> Cookie:
        """Store the nested stack of `resource` and begin to drive it. Returns the cookie of an existing one as well."""
        known = self.find(resource)
        if known is not None:
            if known.action == Action.DELETE:
                raise exception.Error(_('The nested stack of %s is being deleted') % resource.name)
            return {'stack': known.id, 'generation': known.generation, 'action': known.action}
        self.check_depth()
        self._check_counted(resource, template)
        row = self._requests.create_child(
            self._parent, resource.name, str(resource.uuid), str(resource.physical_resource_name()),
            lambda identity: self.define(resource, template, parameters, identity), self._request(resource),
            timeout_mins=timeout_mins, adopt=adopt)
        self._ours.add(row.id)
        return _cookie(row)

    def update(self, resource: Resource, template: Template, parameters: Mapping[str, object] | None = None, *,
               timeout_mins: int | None = None, converge: bool = False, waiting: Collection[str] = (),
               is_signalled: bool = False) -> Cookie:
        """Update the nested stack. Raises EntityNotFound if it is gone. `waiting`: names of members whose turn comes
        with a later update: their own nested stacks are not visited in this one; `is_signalled`: a signal asks for it,
        perhaps while an action of the parent is in progress."""
        self._check_counted(resource, template)
        request = self._request(resource)
        if waiting:
            request[WAITING] = dict.fromkeys(sorted(waiting), True)
        row = self._requests.update_child(
            self._parent, _id_of(resource), lambda identity: self.define(resource, template, parameters, identity),
            request, timeout_mins=timeout_mins, converge=converge, is_signalled=is_signalled)
        return _cookie(row)

    def act(self, resource: Resource, action: str) -> Cookie:
        """Begin DELETE, SUSPEND, RESUME or CHECK. Raises EntityNotFound if there is no such stack, and ActionInProgress
        if it has to end another action first."""
        accepted = self._requests.act_on_child(self._parent, _id_of(resource), Action(action))
        return _cookie(accepted)

    def update_parent(self, mark: Callable[[], None]) -> Cookie:
        """Begin an update of the parent itself to its present definition. `mark()`: marks what it has to replace.
        Raises ActionInProgress, StackLocked."""
        return _cookie(self._requests.update_again(self._parent, mark))

    def abandon(self, resource: Resource) -> Cookie:
        """Delete the nested stack without deleting the objects of its resources."""
        return _cookie(self._requests.act_on_child(self._parent, _id_of(resource), Action.DELETE, abandon=True))

    def cancel(self, resource: Resource) -> None:
        """Cancel the action of the nested stack: no further step starts. Does nothing if none is in progress.

        The action is read before the fence is passed, and only that one is cancelled: this call may be late, and the
        next one belongs to what has followed."""
        while (found := self.find(resource)) is not None and found.status == Status.IN_PROGRESS:
            fence.pass_through()
            if self._requests.cancel_child(self._parent, found.id, found.generation):
                return

    def is_settled(self, stack_id: str, definition: ResourceDefinition) -> bool:
        """Whether an update need not visit the nested stack of a resource whose own definition is unchanged."""
        return self._settled.has(stack_id, definition)

    def _request(self, resource: Resource) -> dict[str, object]:
        """Return what is stored with the request to a nested stack, besides its template."""
        most = int(getattr(resource, 'tolerance', 0))
        return {FACADE: facade_parts(resource.t), **self._settled.inputs(resource.t),
                **({TOLERANCE: most} if most else {})}

    # --- waiting ----------------------------------------------------------------------------------------

    def is_done(self, resource: Resource, cookie: Cookie) -> bool:
        """Whether the action of the cookie is complete. Raises the failure of the nested stack."""
        child = self._children.state(cookie['stack'])
        action = cookie['action']
        if child is None or child.deleted_at is not None:
            if action == Action.DELETE:
                return True
            raise exception.Error(_('The nested stack of %s is gone') % resource.name)
        if child.status == Status.IN_PROGRESS or child.generation < cookie['generation']:
            return False
        if child.status == Status.FAILED:
            raise failure(child.reason)
        if action == child.action == Action.DELETE:
            return False
        if child.action != action and (action == Action.DELETE or child.generation == cookie['generation']):
            raise exception.Error(_('Nested stack %(name)s went to %(action)s while %(wanted)s was expected')
                                  % {'name': child.name, 'action': child.action, 'wanted': action})
        return True

    # --- reading ----------------------------------------------------------------------------------------

    def find(self, resource: Resource) -> stacks.Identity | None:
        """Return the live nested stack of a resource, by its id or, without one, by parent and names; or None."""
        with self._database.reader() as tx:
            if resource.resource_id is not None:
                return self._own(stack_trees.children(tx, [resource.resource_id]).get(resource.resource_id))
            found = stack_trees.child(tx, self._parent.id, resource.name)
        return found if found is not None and found.name == resource.physical_resource_name() else None

    def row(self, resource: Resource) -> stacks.StoredStack | None:
        """Return the row of the live nested stack: parameters, outputs, state. None if there is none."""
        if resource.resource_id is None:
            return None
        with self._database.reader() as tx:
            return self._own(stacks.get(tx, resource.resource_id))

    def template(self, resource: Resource) -> Template | None:
        """Return the current template of the nested stack; None if there is no stack."""
        if resource.resource_id is None:
            return None
        with self._database.reader() as tx:
            row = self._own(stacks.get(tx, resource.resource_id))
            return Template(dict(templates.show(tx, row.template_id).document)) if row is not None else None

    def members(self, resource: Resource) -> list[ResourceState]:
        """Return the rows of the nested stack's resources, ordered by number."""
        if resource.resource_id is None or not self._is_own(resource.resource_id):
            return []
        with self._database.reader() as tx:
            return resources.light(tx, resource.resource_id)

    def stack(self, resource: Resource) -> Stack | None:
        """Return the facade of the nested stack, for reading: `stack[name].FnGetAtt(...)`. None if there is none."""
        stack_id = resource.resource_id
        return self._read(stack_id) if stack_id is not None and self._is_own(stack_id) else None

    def _own(self, child: Found | None) -> Found | None:
        """Return `child` if it belongs to the parent's project, else None: `external_id` may name any stack."""
        if child is None or child.project_id != self._parent.row.project_id:
            return None
        self._ours.add(child.id)
        return child

    def _is_own(self, stack_id: str) -> bool:
        """Whether the stack belongs to the parent's project. Reads each such stack once."""
        if stack_id not in self._ours:
            with self._database.reader() as tx:
                self._own(stacks.identity(tx, stack_id))
        return stack_id in self._ours

    def user_project(self) -> str | None:
        """Return the project of the users inside the tree of stacks, or None."""
        with self._database.reader() as tx:
            root = stacks.get(tx, self._parent.row.root_id)
        return root.user_project_id if root is not None else None

    def set_user_project(self, project_id: str) -> None:
        self._database.retry(lambda tx: stacks.set_user_project_of_tree(tx, self._parent.row.root_id, project_id))

    # --- definitions ------------------------------------------------------------------------------------

    def define(self, resource: Resource, template: Template, parameters: Mapping[str, object] | None,
               identity: StackIdentity) -> StackDefinition:
        """Build the nested stack's definition, with the parent's environment.

        Source: docs/spec/templates.rst, "The nested stack".
        """
        parent = self._parent.definition
        wanted = parent.resources.get(resource.name)
        used = parent.environment.find(wanted.type, wanted.name).path if wanted is not None else ()
        return nested.child_definition(parent, wanted, template, dict(parameters or {}), used, identity=identity,
                                       facade=StoredFacade(facade_parts(resource.t), parent),
                                       name=resource.name, secrets=self._secrets(),
                                       files=self._files(resource, template))

    def _files(self, resource: Resource, template: Template) -> Files:
        """Return the parent's files. In a rolling update, members with the old definition may need files that the
        request did not bring: then those of the current nested stack are added."""
        files: Files = self._parent.definition.files
        if resource.resource_id is None or all(name in files for name in nested.files_named(template)):
            return files
        with self._database.reader() as tx:
            row = self._own(stacks.get(tx, resource.resource_id))
            former = templates.files(tx, row.template_id) if row is not None else {}
        return Files({**former, **files}) if former else files

    def _secrets(self) -> Mask:
        """Return the mask of the secret data of the parent's resources, stored in this process or before."""
        if not self._has_read_secrets:
            with self._database.reader() as tx:
                self._parent.hide(*resource_data.secrets(tx, self._parent.id))
            self._has_read_secrets = True
        return Mask(self._parent.secrets)

    def check_depth(self) -> None:
        if self._parent.row.depth + 1 > self._max_depth:
            raise exception.RequestLimitExceeded(_('Recursion depth exceeds %d.') % self._max_depth)


def facade_parts(definition: ResourceDefinition) -> dict[str, object]:
    """Return what is stored of a resource with its nested stack, for `resource_facade`."""
    return {'metadata': definition.metadata(), 'deletion_policy': definition.deletion_policy(),
            'update_policy': dict(definition['UpdatePolicy']) if 'UpdatePolicy' in list(definition) else {}}


class StoredFacade(Facade):
    """The parent resource as `resource_facade` shows it, stored with the nested stack. `parent`: the definition of the
    stack around it, where it is known."""

    def __init__(self, parts: Mapping[str, object], parent: StackDefinition | None = None) -> None:
        self._parts = parts
        self._parent = parent

    def part(self, name: str) -> object:
        return self._parts.get(name)

    def masked(self, text: str) -> str:
        return text if self._parent is None else self._parent.masked(text)


def failure(reason: str) -> exception.HeatException:
    """Make the error of a nested stack from its status reason; the parent resource's path can be put before it."""
    text = reason
    if text.startswith('Resource ') and ' failed: ' in text:
        text = text.split(' failed: ', 1)[1]
    kind, colon, rest = text.partition(': ')
    if colon and rest.startswith('resources') and kind.isidentifier():
        path, _colon, message = rest.partition(': ')
        return exception.NestedFailure(kind, [path], message)
    return exception.NestedFailure('', [], text)


def _id_of(resource: Resource) -> str:
    """Return the id of the nested stack. Raises EntityNotFound if there is none."""
    if resource.resource_id is None:
        raise exception.EntityNotFound(entity='Stack', name=resource.name)
    return resource.resource_id


def _cookie(row: stacks.StoredStack) -> Cookie:
    return {'stack': row.id, 'generation': row.generation, 'action': row.action}
