"""Adds to a converted tree what only the template language and the types know, as an engine would have stored it.

Parameters as shown, what is hidden in nested stacks, the rest of each applied definition with its fingerprint,
references and cached attributes, outputs. Reads no database, calls no service and fetches no URL: what only a service
knows is marked `live`, and read by the first engine that is asked for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

from heatlite.common import exception, urlfetch
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import resource_lists, templates
from heatlite.db.leases import Lease
from heatlite.db.stacks import StoredStack
from heatlite.engine import clients, rsrc_defn
from heatlite.engine.attributes import SHOW_ATTR
from heatlite.engine.reconcile import attribute_cache, implicit_dependencies, loading, outputs
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.resource_writer import NothingStored
from heatlite.engine.reconcile.step_context import fingerprint
from heatlite.engine.resource import Resource
from heatlite.engine.resources.rest.placeholders import Placeholder
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.stored_resource import StoredResource
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language import masking
from heatlite.language.definition import DELETE, DefinedResource, StackDefinition
from heatlite.language.environment import SECTIONS
from heatlite.language.expression import Scope
from heatlite.language.outputs import OutputDefinition
from heatlite.language.template import Template
from heatlite.language.unknown import UNKNOWN, is_known
from heatlite.planning.marks import DIRTY
from heatlite.planning.states import ResourceState, Status
from heatlite.planning.steps import current_rows_of
from heatlite.takeover import inference, translation
from heatlite.takeover.convert import (
    ConvertedResource,
    ConvertedStack,
    ConvertedTemplate,
    ConvertedTree,
    NotConvertible,
)

NOTHING_KNOWN = attribute_cache.StackScope(lambda name: None, lambda row: {}, lambda row, attribute, path: None)
PLACEHOLDER = 'is_placeholder'              # datum of a resource for which Heat made nothing, either
RETRY_LIMIT = 0                             # nothing is retried: nothing is driven


def complete(whole: ConvertedTree, runtime: Runtime, registry: TypeRegistry) -> ConvertedTree:
    """Return the tree, completed. Raises NotConvertible for a template that heatlite cannot read."""
    tree = _Tree(runtime, registry)
    with urlfetch.refused(tree.note_refusal):
        for stack in map(_translated, whole.stacks):    # parents first: what is hidden comes from them
            tree.define(stack, whole)
        for stack in reversed(whole.stacks):    # children first: outputs of groups come from them
            tree.read(stack.row.id)
    return replace(whole, stacks=[tree.completed(stack.row.id) for stack in whole.stacks], unmanaged=tree.unmanaged)


@dataclass
class _LoadedStack:
    """One stack in memory."""

    stack: ConvertedStack
    definition: StackDefinition
    leased: LeasedStack
    executor: StepExecutor | None = None


class _Tree:
    def __init__(self, runtime: Runtime, registry: TypeRegistry) -> None:
        self._runtime = runtime
        self._registry = registry
        self.stacks: dict[str, _LoadedStack] = {}
        self.unmanaged: Counter[str] = Counter()    # type -> number of objects of services that are gone from heatlite
        self.refusals = 0                   # how often a type asked for a service or URL: what it then says is no value

    def completed(self, stack_id: str) -> ConvertedStack:
        return self.stacks[stack_id].stack

    # --- definitions ------------------------------------------------------------------------------------

    def define(self, stack: ConvertedStack, whole: ConvertedTree) -> None:
        """Build the definition, and from it the parameters, the applied definitions and their fingerprints."""
        parent = self.stacks.get(stack.row.owner_id or '')
        if parent is not None:
            stack = _below(stack, parent)
        try:
            definition = self._definition(stack, stack.source)
            row = replace(stack.row, parameters=definition.parameters.shown(), outputs=outputs.unknown(definition))
            current = current_rows_of(row, [member.state for member in stack.members]) if row.deleted_at is None else {}
            stack = replace(stack, row=row)
            stack = replace(stack, members=[self._applied(stack, definition, member, current)
                                            for member in stack.members])
            known = self._loaded(stack, definition, whole)
        except exception.HeatException as error:
            raise NotConvertible(f'stack {stack.row.id}', _('its template cannot be read: %s') % error) from error
        self.stacks[stack.row.id] = known

    def _definition(self, stack: ConvertedStack, source: ConvertedTemplate) -> StackDefinition:
        stored = templates.StoredTemplate(source.id, source.document, source.environment, source.files)
        return loading.definition(stored, stack.row, self._registry)

    def _applied(self, stack: ConvertedStack, definition: StackDefinition, member: ConvertedResource,
                 current: Mapping[str, int]) -> ConvertedResource:
        """Return the member with the rest of its definition. Properties are those that Heat applied."""
        source = definition
        if 'properties' not in member.columns:
            return _not_begun(member, definition, current)
        if member.applied != stack.row.template_id:
            source = self._definition(stack, stack.sources[member.applied])
        wanted = source.all_resources.get(member.state.name)
        return _with_definition(member, _static(wanted) if wanted is not None else {})

    def _loaded(self, stack: ConvertedStack, definition: StackDefinition, whole: ConvertedTree) -> _LoadedStack:
        authority = next((each for each in whole.credentials if each.id == stack.row.credentials_id), None)
        context = _WithoutServices(self._refuse, project_id=stack.row.project_id,
                                   user_id=authority.user_id if authority else None, overwrite=False)
        leased = LeasedStack(stack.row, Lease(stack.row.id, '', 0), definition, context, loading.traversal(
            self._runtime, stack.row, loading.target(stack.row, definition),
            [member.state for member in stack.members], RETRY_LIMIT))
        return _LoadedStack(stack, definition, leased)

    # --- values -----------------------------------------------------------------------------------------

    def read(self, stack_id: str) -> None:
        """Add references, attributes and outputs, after those of the stacks below."""
        known = self.stacks[stack_id]
        if known.stack.row.deleted_at is not None:
            return
        executor = self._executor(known)
        self._check_nested(executor, known)
        self.unmanaged.update(_unmanaged(executor, known.stack.members))
        members = []
        inferred = _inferred(known)
        for member in known.stack.members:      # in the order of creation: later ones refer to earlier ones
            cached = _joined(self._cached(executor, known, member), inferred.get(member.state.id, {}))
            if cached:
                known.leased.attribute_cache.put(member.state.id, cached)
            is_stored = attribute_cache.is_worth_storing(cached, member.state.physical_id)
            members.append(replace(member, columns={
                **{name: value for name, value in member.columns.items() if name != 'attributes'},
                **({'attributes': cached} if is_stored else {})}))
        known.executor = executor
        members = [self._referring(known, executor, member) for member in members]
        found = [self._output(executor, name, output) for name, output in known.definition.outputs.items()]
        known.leased.take_outputs(found)
        known.stack = replace(known.stack, row=known.leased.row, members=members)

    def _check_nested(self, executor: StepExecutor, known: _LoadedStack) -> None:
        """Raise NotConvertible for a nested stack that its type would not make here: an update would replace what is in
        it, or the deletion of the stack leave it."""
        for state in (member.state for member in known.stack.members):
            below = self.stacks.get(state.physical_id or '')
            if below is None or below.stack.row.owner_id != known.stack.row.id:
                continue
            if not state.exists or below.stack.row.deleted_at is not None:
                continue
            kind = executor.objects.known_kind(state)
            if kind is None or (issubclass(kind, StackResource) and kind.is_own(below.definition.resources)):
                continue
            raise NotConvertible(f'resource {state.name} {state.uuid}', _(
                'that Heat made a nested stack of %s which heatlite does not make: map the type to the template of '
                'Heat in a file of environment_dir, as that Heat does, or remove the resource there') % state.type)

    def _executor(self, known: _LoadedStack) -> StepExecutor:
        def facade(objects: ResourceObjects) -> Stack:
            return Stack(known.leased, objects.by_name, lambda context: _NoClients(context, self._refuse),
                         self._runtime, scope=objects.scope, nesting=_ReadOnlyNesting(self, known),
                         software=_NotRead(self._refuse), alarms=_NotRead(self._refuse),
                         default_timeout=self._registry.action_timeout)

        return StepExecutor(self._runtime, known.leased, NothingStored(), self._registry, facade,
                            _ConvertedResources(known.stack), lambda lease: None)

    def note_refusal(self) -> None:
        self.refusals += 1

    def _refuse(self, client: str) -> NoReturn:
        self.note_refusal()
        raise exception.ClientNotAvailable(client_name=client)

    def _asked(self, read: Callable[[], object]) -> object:
        """Return the value, or UNKNOWN if it is not stored."""
        before = self.refusals
        try:
            value = read()
        except Exception:                   # raised by a type: an engine reads the value when it is needed
            return UNKNOWN
        return value if self.refusals == before else UNKNOWN

    def _cached(self, executor: StepExecutor, known: _LoadedStack, member: ConvertedResource) -> dict[str, object]:
        """Return reference and attributes of one resource, as `AttributeReader.read`; without what a service would have
        to be asked for."""
        state = member.state
        if not state.exists or state.name not in known.definition.resources:
            return {}
        before = self.refusals
        try:
            resource = executor.objects.stored(state)
            schema = resource.attributes_schema
        except exception.HeatException as error:
            if self.refusals != before:     # its template is at a URL, and no nested stack has it yet
                return {}
            raise NotConvertible(f'resource {state.uuid}', str(error)) from None
        wanted = set(known.definition.referenced_attributes(state.name))
        if () in wanted or resource.default_client_name is None:
            wanted.discard(())
            wanted |= {(attribute,) for attribute in schema}
        found = {attribute_cache.REFERENCE: self._asked(resource.get_reference_id)}
        for attribute, *path in sorted(wanted, key=str):
            if attribute != SHOW_ATTR:
                found[attribute_cache.key(attribute, tuple(path))] = self._asked(
                    partial(resource.FnGetAtt, attribute, *path))
        return {name: value for name, value in found.items() if value is not UNKNOWN}

    def _output(self, executor: StepExecutor, name: str, output: OutputDefinition) -> dict[str, object]:
        """Return an output; one that cannot be computed here is read by an engine whenever it is asked for."""
        value = self._asked(lambda: output.resolve(executor.scope))
        shown = {'output_key': name, 'description': output.description,
                 'output_value': value if is_known(value) else None}
        return shown if is_known(value) else {**shown, 'live': True}

    def _referring(self, known: _LoadedStack, executor: StepExecutor, member: ConvertedResource) -> ConvertedResource:
        """Return the member with metadata and update policy that refer to other resources evaluated, too."""
        wanted = known.definition.resources.get(member.state.name)
        if wanted is None or 'definition' not in member.columns:
            return member
        if not (wanted.needs or wanted.parsed.update_policy):
            return member
        if member.state.template_id != known.stack.row.template_id:
            return member
        try:
            return _with_definition(member, _rest(wanted, executor.scope))
        except Exception:                   # a value of a service: the first update compares without it
            return member


def _not_begun(member: ConvertedResource, definition: StackDefinition, current: Mapping[str, int]) -> ConvertedResource:
    """Return a resource that was never begun, with its requirements: Heat stores them when it begins."""
    state = member.state
    wanted = implicit_dependencies.complete(definition).resources.get(state.name)
    if wanted is None or state.requires:
        return member
    return replace(member, state=state._replace(requires={
        name: current[name] for name in sorted(wanted.requires) if name in current}))


def _with_definition(member: ConvertedResource, rest: Mapping[str, object]) -> ConvertedResource:
    state = member.state
    given = {**rest, 'type': state.type}
    sign = DIRTY if state.fingerprint == DIRTY else fingerprint({**given, 'properties': member.columns['properties']})
    return replace(member, state=state._replace(fingerprint=sign), columns={
        **member.columns, 'definition': {name: value for name, value in given.items() if value}})


def _unmanaged(executor: StepExecutor, members: Sequence[ConvertedResource]) -> Iterator[str]:
    """Yield the type of each object that Heat has made and its type here does not delete."""
    for member in members:
        if not member.state.exists or member.state.physical_id is None:
            continue
        kind = executor.objects.known_kind(member.state)
        if kind is None or not issubclass(kind, Placeholder):
            continue
        if not any(datum.key == PLACEHOLDER for datum in member.data):
            yield member.state.type


def _inferred(known: _LoadedStack) -> dict[int, dict[str, object]]:
    """Row -> the cached values under which Heat applied those that refer to it.

    Heat stores the new template with a row before it applies it, so what a failed or interrupted update has left says
    nothing: both rows have to be settled, and the one that refers to the other was applied with that very row. Without
    attributes that an output uses: outputs and the first update read those from the service.
    """
    definition = known.definition
    shown = {read for output in definition.outputs.values() for read in outputs.reads(output)}
    applied = {member.state.id: member.columns.get('properties') for member in known.stack.members}
    settled = _settled(known)
    found: dict[int, dict[str, object]] = {}
    for row in settled.values():
        written = definition.resources[row.name].snippet.get(definition.keys.properties)
        for name, place, value in inference.values(written, applied[row.id]):
            if value is None or name not in settled or settled[name].id != row.requires.get(name):
                continue
            if place is None:
                found.setdefault(settled[name].id, {})[attribute_cache.REFERENCE] = value
            elif (name, str(place[0])) not in shown:
                found.setdefault(settled[name].id, {})[attribute_cache.key(str(place[0]), place[1:])] = value
    return found


def _settled(known: _LoadedStack) -> dict[str, ResourceState]:
    """Name -> the current row of each resource whose last action was completed with the template of the stack."""
    rows = filter(None, map(known.leased.current, known.definition.resources))
    return {row.name: row for row in rows if row.exists and row.status is Status.COMPLETE and row.fingerprint != DIRTY
            and row.template_id == known.stack.row.template_id}


def _joined(computed: Mapping[str, object], inferred: Mapping[str, object]) -> dict[str, object]:
    """Return the cached values of a row. Attributes that a type computes have changed since they were applied, such as
    those of a group that was scaled; some types had another reference in Heat."""
    reference = {name: inferred[name] for name in (attribute_cache.REFERENCE,) if name in inferred}
    return {**inferred, **computed, **reference}


def _translated(stack: ConvertedStack) -> ConvertedStack:
    return replace(stack, members=[replace(member, data=translation.data(member, stack.members))
                                   for member in stack.members])


def _below(stack: ConvertedStack, parent: _LoadedStack) -> ConvertedStack:
    """Return a nested stack with the facade of its parent's resource, and with what is hidden in it."""
    row = parent.leased.current(stack.row.parent_resource or '')
    applied = next((member.columns for member in parent.stack.members if row is not None and member.state.id == row.id),
                   {})
    rest = applied.get('definition') or {}
    facade = {'metadata': applied.get('metadata') or {}, 'deletion_policy': rest.get('deletion_policy') or DELETE,
              'update_policy': rest.get('update_policy') or {}}
    stack = replace(stack, row=replace(stack.row, request={**(stack.row.request or {}), 'facade': facade}))
    definition = parent.definition
    if not definition.mask:
        return stack
    hidden = {source.id: replace(source, environment=_hiding(definition, source)) for source in stack.sources.values()}
    return replace(stack, sources=hidden)


def _hiding(parent: StackDefinition, source: ConvertedTemplate) -> dict[str, object]:
    given = {name: value for name, value in source.environment.items() if name in SECTIONS}
    found = masking.inherited(parent.mask, parent.parameters.hidden, source.document, given.get('parameters') or {},
                              given.get('parameter_defaults') or {})
    names = sorted({*(given.get(masking.NAMES) or ()), *found.get(masking.NAMES, ())})
    return {**given, **found, **({masking.NAMES: names} if names else {})}


def _static(wanted: DefinedResource) -> dict[str, object]:
    """As `_rest`, before anything is known of other resources: `_Tree.read` evaluates again what refers to them."""
    try:
        return _rest(wanted, NOTHING_KNOWN)
    except Exception:                       # a function that takes no null
        return _plain(wanted, NOTHING_KNOWN)


def _rest(wanted: DefinedResource, scope: Scope) -> dict[str, object]:
    """Return the evaluated definition of a resource without its properties."""
    return {**_plain(wanted, scope), 'metadata': wanted.metadata(scope), 'update_policy': wanted.update_policy(scope)}


def _plain(wanted: DefinedResource, scope: Scope) -> dict[str, object]:
    """Return the parts of a definition that refer to no other resource."""
    return {'type': wanted.type, 'deletion_policy': wanted.deletion_policy, 'depends_on': sorted(wanted.depends_on),
            'description': wanted.description, 'external_id': wanted.external_id(scope)}


# --- what types may ask for --------------------------------------------------------------------------------

class _ConvertedResources:
    """In the place of `StoredResourceCache`: the resources are in memory."""

    def __init__(self, stack: ConvertedStack) -> None:
        self._stack = stack
        self._members = {member.state.id: member for member in stack.members}

    def get(self, state: ResourceState) -> StoredResource:
        member = self._members[state.id]
        columns = member.columns
        return StoredResource(state, columns.get('properties'), columns.get('definition'), columns.get('metadata'),
                              {datum.key: str(datum.value) for datum in member.data},
                              dict(columns.get('attributes') or {}))

    def environment(self, template_id: str) -> Mapping[str, object] | None:
        source = self._stack.sources.get(template_id)
        return source.environment if source is not None else None

    def holders(self, physical_id: str) -> list[resource_lists.Holder]:
        raise exception.NotSupported(feature=_('Importing into a stack that is being taken over'))

    def forget(self, row: int) -> None:
        pass


class _WithoutServices(RequestContext):
    """The context of a stack for which no service is asked, not even by plug-ins that find their own way."""

    def __init__(self, refuse: Callable[[str], NoReturn], **values: Any) -> None:
        super().__init__(**values)
        self._refuse = refuse

    @property
    def keystone_session(self) -> NoReturn:
        self._refuse('keystone')


class _NoClients:
    """Clients of services that are not called."""

    def __init__(self, context: RequestContext, refuse: Callable[[str], NoReturn]) -> None:
        self._known = clients.of(context)
        self._refuse = refuse

    def client_plugin(self, name: str) -> object:
        """Return the plug-in, which still says what an error means."""
        found = self._known.client_plugin(name)
        if found is not None:
            found.client = partial(self.client, name)
        return found

    def client(self, name: str, version: str | None = None) -> NoReturn:
        self._refuse(name)


class _NotRead:
    """In the place of use cases of ours that types ask: software configs and deployments, alarms."""

    def __init__(self, refuse: Callable[[str], NoReturn]) -> None:
        self._refuse = refuse

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse('heat')


class _ReadOnlyNesting:
    """In the place of `Nesting`: the nested stacks are in memory, and are only read."""

    def __init__(self, tree: _Tree, known: _LoadedStack) -> None:
        self._tree = tree
        self._known = known

    def check_room(self, resource: Resource, count: int) -> None:
        pass

    def abandon(self, resource: Resource) -> NoReturn:
        raise exception.NotSupported(feature=_('Changing a stack that is being taken over'))

    def set_user_project(self, project_id: str) -> NoReturn:
        raise exception.NotSupported(feature=_('Changing a stack that is being taken over'))

    def update_parent(self, mark: Callable[[], None]) -> NoReturn:
        raise exception.NotSupported(feature=_('Changing a stack that is being taken over'))

    def is_settled(self, stack_id: str, definition: rsrc_defn.ResourceDefinition) -> bool:
        raise exception.NotSupported(feature=_('Updating a stack that is being taken over'))

    def user_project(self) -> str | None:
        root = self._tree.stacks[self._known.stack.row.root_id]
        return root.stack.row.user_project_id

    def _of(self, resource: Resource) -> _LoadedStack | None:
        found = self._tree.stacks.get(resource.resource_id or '')
        return found if found is not None and found.stack.row.deleted_at is None else None

    def find(self, resource: Resource) -> StoredStack | None:
        return self.row(resource)

    def row(self, resource: Resource) -> StoredStack | None:
        found = self._of(resource)
        return found.stack.row if found is not None else None

    def template(self, resource: Resource) -> Template | None:
        found = self._of(resource)
        return Template(dict(found.stack.source.document)) if found is not None else None

    def members(self, resource: Resource) -> Sequence[ResourceState]:
        found = self._of(resource)
        return [member.state for member in found.stack.members] if found is not None else []

    def stack(self, resource: Resource) -> Stack | None:
        found = self._of(resource)
        return found.executor.facade if found is not None and found.executor is not None else None


