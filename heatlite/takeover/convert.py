"""Converts the rows of one tree of stacks into rows of ours. Pure: reads no clock, row or service.

Ids, names, physical ids and times stay. Rows of resources are numbered within their stack, in the order of Heat's
numbers; the types, which Heat does not store with them, come from the templates that they were last applied with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.template_files import Files
from heatlite.db import tables
from heatlite.db.credentials import Credentials
from heatlite.db.snapshots import Snapshot
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from heatlite.db.stacks import StoredStack
from heatlite.engine.reconcile import request_keys
from heatlite.engine.resources import cooldown
from heatlite.language.template import Template
from heatlite.planning.marks import DIRTY
from heatlite.planning.states import Action, Datum, Event, ResourceState, Status
from heatlite.takeover import ciphers, rows

MARK = request_keys.TAKEN_OVER              # key in the column `request` of a root: the mark of its tree in Heat
STACK_TYPE = 'OS::Heat::Stack'              # in events of stacks themselves
UNKNOWN_TIME = datetime(1970, 1, 1)
# Actions of a stack that another engine can bring to an end from what is stored.
RESUMABLE = frozenset({Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.DELETE, Action.SUSPEND, Action.RESUME,
                       Action.CHECK, Action.SNAPSHOT})
UPDATING = frozenset({Action.UPDATE, Action.ROLLBACK})


class NotConvertible(Exception):
    """A row that makes no sense, or cannot be represented. `row`: such as "resource 17"; `reason`: one sentence."""

    def __init__(self, row: str, reason: str) -> None:
        super().__init__(f'{row}: {reason}')
        self.row, self.reason = row, reason


@dataclass(frozen=True)
class ConvertedTemplate:
    """A template with its environment and its files. `id`: of the row to be stored."""

    id: str
    document: Mapping[str, object]
    environment: Mapping[str, Any]
    files: Files


@dataclass(frozen=True)
class ConvertedResource:
    """One resource. `columns`: properties, metadata, attributes as in the table; `definition` is added later.
    `applied`: the template that the properties are of."""

    state: ResourceState
    applied: str
    columns: Mapping[str, Any] = field(default_factory=dict)
    data: tuple[Datum, ...] = ()


@dataclass(frozen=True)
class ConvertedStack:
    """One stack with everything that belongs to it. `snapshots` hold exports, as ours do."""

    row: StoredStack
    sources: Mapping[str, ConvertedTemplate]    # by id; that of the row, its predecessor, and those of its resources
    members: Sequence[ConvertedResource]
    events: Sequence[tuple[int, Event]]     # with Heat's numbers: in the order of those of the whole tree
    snapshots: Sequence[Snapshot] = ()

    @property
    def source(self) -> ConvertedTemplate:
        return self.sources[self.row.template_id]


@dataclass(frozen=True)
class ConvertedTree:
    """A tree: root first, parents before children. Credentials are not encrypted yet. `unmanaged`: type -> number of
    objects that heatlite will not delete; added later."""

    stacks: Sequence[ConvertedStack]
    credentials: Sequence[Credentials]
    unmanaged: Mapping[str, int] = field(default_factory=dict)

    @property
    def root(self) -> ConvertedStack:
        return self.stacks[0]


@dataclass(frozen=True)
class HeatValueReader:
    """Reads JSON and encrypted values of a Heat database with the key of its configuration."""

    key: str

    def json(self, row: str, column: str, text: str | None) -> object:
        if text is None:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise NotConvertible(row, _('its column %s is no JSON') % column) from None

    def mapping(self, row: str, column: str, text: str | None) -> dict[str, Any]:
        found = self.json(row, column, text)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise NotConvertible(row, _('its column %s is no map') % column)
        return found

    def clear(self, row: str, method: str | None, secret: str) -> str:
        try:
            return ciphers.decrypt(method or '', secret, self.key)
        except exception.HeatException as error:
            raise NotConvertible(row, _('a value cannot be decrypted: %s') % error) from None

    def opened(self, row: str, secret: object) -> object:
        """Return the value of a pair (method, text)."""
        try:
            return ciphers.decrypted_json(secret, self.key)
        except (ValueError, exception.HeatException) as error:
            raise NotConvertible(row, _('a value cannot be decrypted: %s') % error) from None

    def properties(self, found: rows.PropertiesData) -> dict[str, object]:
        row = f'resource_properties_data {found.id}'
        data = self.mapping(row, 'data', found.data)
        return {name: self.opened(row, value) for name, value in data.items()} if found.encrypted else data


def convert(tree: rows.HeatTree, reader: HeatValueReader, new_id: Callable[[], str], now: datetime) -> ConvertedTree:
    """Return the tree as rows of ours. `now`: actions under way get their whole time again. Raises NotConvertible."""
    return _Conversion(tree, reader, new_id, now).run()


class _Conversion:
    def __init__(self, tree: rows.HeatTree, reader: HeatValueReader, new_id: Callable[[], str], now: datetime) -> None:
        self._tree = tree
        self._reader = reader
        self._new_id = new_id
        self._now = now
        self._depths = {tree.root.id: 0}
        self._live = {stack.id for stack in tree.stacks if stack.deleted_at is None}
        self._files: dict[int, Files] = {}
        self._properties: dict[int, dict[str, object]] = {}
        self._credentials = {number: new_id() for number in sorted(
            {stack.user_creds_id for stack in tree.stacks if stack.user_creds_id is not None})}

    def run(self) -> ConvertedTree:
        for stack in self._tree.stacks:
            self._check(stack)
        return ConvertedTree([self._stack(stack) for stack in self._tree.stacks],
                             [self._authority(number) for number in self._credentials])

    # --- stacks -----------------------------------------------------------------------------------------

    def _check(self, stack: rows.HeatStack) -> None:
        row = f'stack {stack.id}'
        if not stack.name or not stack.tenant:
            raise NotConvertible(row, _('it has no name or no project'))
        action, status = state(row, stack.action, stack.status)
        if stack.deleted_at is None:
            self._check_live(stack, row, action, status)
        if stack.owner_id is None:
            return
        if stack.tenant != self._tree.root.tenant:
            raise NotConvertible(row, _('it is nested in a stack of another project'))
        self._depths[stack.id] = self._depths[stack.owner_id] + 1

    def _check_live(self, stack: rows.HeatStack, row: str, action: Action, status: Status) -> None:
        """Check what an engine needs to work on a stack. Deleted stacks are only shown."""
        if not stack.convergence or stack.backup:       # NULL: the stack is older than the column
            raise NotConvertible(
                row, _('it was made without convergence: "heat-manage migrate_convergence_1" converts it'))
        if status is Status.IN_PROGRESS and action not in RESUMABLE:
            raise NotConvertible(row, _('%s is under way, which only the Heat that began it can end') % action)
        if stack.owner_id is not None and not stack.parent_resource_name:
            raise NotConvertible(row, _('it is nested, but in no resource'))
        for each in self._tree.resources.get(stack.id, ()):
            if each.requires is None:           # an engine would delete it in any order
                raise NotConvertible(f'resource {each.id}', _(
                    'its dependencies are not stored: "heat-manage migrate_convergence_1" stores them'))

    def _stack(self, stack: rows.HeatStack) -> ConvertedStack:
        row = f'stack {stack.id}'
        action, status = state(row, stack.action, stack.status)
        found = self._rows(stack)
        numbers = {each.id: number for number, each in enumerate(found, 1)}
        sources = _Sources(self._new_id)
        current = sources.add(stack.raw_template_id, self._source)
        previous = (sources.add(stack.prev_raw_template_id, self._source)
                    if stack.prev_raw_template_id is not None and status is not Status.COMPLETE else None)
        kinds = self._types_in_history(stack)
        updated = current if status is Status.IN_PROGRESS and action in UPDATING else None
        members = [self._begun(self._member(each, numbers, sources, current, kinds), sources, updated)
                   for each in found]
        document = Template(dict(sources.by_id[current].document))
        created = stack.created_at or stack.updated_at or UNKNOWN_TIME
        is_running = status is Status.IN_PROGRESS
        made = self._being_made(stack, action, status)
        snapshots = [self._snapshot(each, made) for each in self._tree.snapshots.get(stack.id, ())]
        return ConvertedStack(StoredStack(
            id=stack.id, name=str(stack.name), project_id=str(stack.tenant), username=stack.username,
            owner_id=stack.owner_id, root_id=self._tree.root.id, parent_resource=stack.parent_resource_name,
            depth=self._depths[stack.id], action=action, status=status, reason=stack.status_reason or '',
            description=str(document.description or ''), template_id=current, previous_template_id=previous,
            generation=1, next_resource=len(found) + 1, timeout_mins=stack.timeout,
            disable_rollback=bool(stack.disable_rollback), converge=False,
            credentials_id=self._credentials.get(stack.user_creds_id) if stack.user_creds_id is not None else None,
            user_project_id=stack.stack_user_project_id,
            tags=[tag for tag in self._tree.tags.get(stack.id, ()) if tag] or None, parameters=None, outputs=None,
            request=self._request(stack, made), created_at=created, updated_at=stack.updated_at,
            started_at=self._now if is_running else stack.updated_at or created, deleted_at=stack.deleted_at,
        ), sources.by_id, members, self._events(stack, found, numbers), snapshots)

    def _rows(self, stack: rows.HeatStack) -> Sequence[rows.HeatResource]:
        """Return the rows of resources that the stack still has: Heat removes others when its action ends. One with a
        nested stack that is still there is removed with that."""
        found = self._tree.resources.get(stack.id, ())
        if stack.deleted_at is not None:
            return found
        return [each for each in found if (each.action, each.status) != (Action.DELETE, Status.COMPLETE)
                or each.nova_instance in self._live]

    def _request(self, stack: rows.HeatStack, made: str | None) -> dict[str, object]:
        """`made`: the snapshot that is being made."""
        found: dict[str, object] = {MARK: self._tree.mark} if stack.owner_id is None else {}
        if made is not None:
            found[request_keys.SNAPSHOT] = made
        return found

    def _being_made(self, stack: rows.HeatStack, action: Action, status: Status) -> str | None:
        """Return the id of the snapshot that an action under way makes: Heat takes it for that of the traversal."""
        if (action, status) != (Action.SNAPSHOT, Status.IN_PROGRESS):
            return None
        begun = [each.id for each in self._tree.snapshots.get(stack.id, ()) if _is_begun(each)]
        return stack.current_traversal if stack.current_traversal in begun else begun[0] if len(begun) == 1 else ''

    # --- templates --------------------------------------------------------------------------------------

    def _source(self, number: int, template_id: str) -> ConvertedTemplate:
        row = f'raw_template {number}'
        found = self._tree.templates.get(number)
        if found is None:
            raise NotConvertible(row, _('it is referred to, and gone'))
        document = self._reader.mapping(row, 'template', found.template)
        try:
            Template(document).edition      # noqa: B018
        except exception.HeatException as error:
            raise NotConvertible(row, str(error)) from None
        return ConvertedTemplate(template_id, document, self._environment(row, found), self._files_of(row, found))

    def _environment(self, row: str, template: rows.RawTemplate) -> dict[str, object]:
        """Return the environment in clear. What was encrypted stays known as hidden, as in an environment of ours."""
        found = self._reader.mapping(row, 'environment', template.environment)
        encrypted = frozenset(found.get('encrypted_param_names') or ())
        found['parameters'] = {name: self._parameter(row, value) if name in encrypted else value
                               for name, value in (found.get('parameters') or {}).items()}
        found['parameter_defaults'] = found.get('parameter_defaults') or {}
        return found

    def _parameter(self, row: str, value: object) -> object:
        """Return the value of a hidden parameter. Heat encrypts its text, not JSON; what is no pair is not
        encrypted."""
        if isinstance(value, list) and len(value) == 2:
            return self._reader.clear(row, str(value[0]), str(value[1]))
        return value

    def _files_of(self, row: str, template: rows.RawTemplate) -> Files:
        if template.files_id is None:
            return Files(self._reader.mapping(row, 'files', template.files))
        if template.files_id not in self._files:
            found = self._tree.files.get(template.files_id)
            if found is None:
                raise NotConvertible(row, _('its files are gone'))
            self._files[template.files_id] = Files(
                self._reader.mapping(f'raw_template_files {found.id}', 'files', found.files))
        return self._files[template.files_id]

    # --- resources --------------------------------------------------------------------------------------

    def _member(self, found: rows.HeatResource, numbers: Mapping[int, int], sources: _Sources, current: str,
                kinds: Mapping[tuple[str | None, str | None], str]) -> ConvertedResource:
        row = f'resource {found.id}'
        if not found.name or not found.uuid:
            raise NotConvertible(row, _('it has no name or no uuid'))
        action, status = state(row, found.action, found.status)
        template_id = current
        if found.current_template_id is not None and found.current_template_id in self._tree.templates:
            template_id = sources.add(found.current_template_id, self._source)
        kind = (sources.type_of(template_id, found.name) or sources.type_of(current, found.name)
                or kinds.get((found.name, found.nova_instance)) or kinds.get((found.name, None)))
        if kind is None:
            raise NotConvertible(row, _('no template and no event tells the type of %s') % found.name)
        columns: dict[str, object] = {}
        if action is not Action.INIT:
            columns['properties'] = self._applied(found)
        metadata = self._reader.mapping(row, 'rsrc_metadata', found.rsrc_metadata)
        if metadata.get(cooldown.IN_PROGRESS):      # by an engine that was killed: none of Heat runs after the switch
            metadata[cooldown.IN_PROGRESS] = False
        if metadata:
            columns['metadata'] = metadata
        if found.attr_data_id is not None:
            columns['attributes'] = self._properties_of(row, found.attr_data_id)
        return ConvertedResource(ResourceState(
            id=numbers[found.id], name=found.name, uuid=found.uuid, type=kind, action=action, status=status,
            reason=found.status_reason or '', physical_id=found.nova_instance,
            requires=self._requires(row, found, numbers), replaces=numbers.get(found.replaces or 0),
            replaced_by=numbers.get(found.replaced_by or 0), template_id=template_id,
            fingerprint=DIRTY if action is Action.UPDATE and status is not Status.COMPLETE else '',
            created_at=found.created_at or UNKNOWN_TIME, updated_at=found.updated_at),
            template_id, columns, tuple(self._data(found.id)))

    def _begun(self, member: ConvertedResource, sources: _Sources, updated: str | None) -> ConvertedResource:
        """Return a resource that was being updated with the template of its update, `updated`, as an engine stores it
        at the begin: Heat does at the end. It is updated again, not replaced like one that another update has left."""
        state = member.state
        if updated is None or (state.action, state.status) != (Action.UPDATE, Status.IN_PROGRESS):
            return member
        if sources.type_of(updated, state.name) != state.type:
            return member
        return replace(member, state=state._replace(template_id=updated))

    def _applied(self, found: rows.HeatResource) -> dict[str, object]:
        row = f'resource {found.id}'
        if found.rsrc_prop_data_id is not None:
            return self._properties_of(row, found.rsrc_prop_data_id)
        data = self._reader.mapping(row, 'properties_data', found.properties_data)
        return ({name: self._reader.opened(row, value) for name, value in data.items()}
                if found.properties_data_encrypted else data)

    def _properties_of(self, row: str, number: int) -> dict[str, object]:
        if number not in self._properties:
            found = self._tree.properties.get(number)
            if found is None:
                raise NotConvertible(row, _('its properties are gone'))
            self._properties[number] = self._reader.properties(found)
        return self._properties[number]

    def _requires(self, row: str, found: rows.HeatResource, numbers: Mapping[int, int]) -> dict[str, int]:
        """Rows that are gone do not count: Heat leaves their ids behind."""
        wanted = self._reader.json(row, 'requires', found.requires) or []
        if not isinstance(wanted, list) or not all(isinstance(number, int) for number in wanted):
            raise NotConvertible(row, _('its column requires is no list of numbers'))
        names = {each.id: str(each.name) for each in self._tree.resources[found.stack_id]}
        return {names[number]: numbers[number] for number in sorted(wanted) if number in numbers}

    def _data(self, resource_id: int) -> Iterator[Datum]:
        for found in self._tree.data.get(resource_id, ()):
            row = f'resource_data {found.id}'
            if not found.key:
                raise NotConvertible(row, _('it has no key'))
            value = found.value
            if found.redact and value is not None:
                value = self._reader.clear(row, found.decrypt_method, value)
            if value is not None:
                yield Datum(found.key, value, bool(found.redact))

    # --- history ----------------------------------------------------------------------------------------

    def _types_in_history(self, stack: rows.HeatStack) -> dict[tuple[str | None, str | None], str]:
        """(name, physical id) and (name, None) -> the type in the newest event."""
        found: dict[tuple[str | None, str | None], str] = {}
        for event in self._tree.events:
            if event.stack_id == stack.id and event.resource_type:
                found[event.resource_name, event.physical_resource_id] = event.resource_type
                found[event.resource_name, None] = event.resource_type
        return found

    def _events(self, stack: rows.HeatStack, members: Sequence[rows.HeatResource],
                numbers: Mapping[int, int]) -> list[tuple[int, Event]]:
        """Properties are given where they differ from those of the event before of the same row."""
        of_object = {(each.name, each.nova_instance): numbers[each.id] for each in members}
        newest = {each.name: numbers[each.id] for each in members}
        known: dict[int, int | None] = {}
        found = []
        for event in self._tree.events:
            if event.stack_id != stack.id:
                continue
            row = f'event {event.id}'
            if not event.uuid:
                raise NotConvertible(row, _('it has no uuid'))
            number = None
            if event.resource_type != STACK_TYPE or event.physical_resource_id != stack.id:
                number = of_object.get((event.resource_name, event.physical_resource_id),
                                       newest.get(event.resource_name))
            properties: Mapping[str, object] | None = None
            if number is None or known.get(number) != event.rsrc_prop_data_id:
                properties = (self._properties_of(row, event.rsrc_prop_data_id)
                              if event.rsrc_prop_data_id is not None else None if number is None else {})
            if number is not None:
                known[number] = event.rsrc_prop_data_id
            found.append((event.id, Event(
                event.uuid, event.created_at or UNKNOWN_TIME, event.resource_name or '', event.resource_type or '',
                event.physical_resource_id, event.resource_action or '', event.resource_status or '',
                event.resource_status_reason or '', number, properties)))
        return found

    def _snapshot(self, found: rows.HeatSnapshot, made: str | None) -> Snapshot:
        """One whose making was interrupted has failed: no engine goes on with it. `made`: that one goes on."""
        row = f'snapshot {found.id}'
        action, status = state(row, found.action or Action.CREATE, found.status or Status.FAILED)
        reason = found.status_reason
        if _is_begun(found) and found.id != made:
            status, reason = Status.FAILED, _('The engine that made it was interrupted.')
        data = self._reader.mapping(row, 'data', found.data)
        saved = {each.resource_name: self._reader.mapping(f'resource_snapshot {each.id}', 'data', each.data)
                 for each in self._tree.saved.get(found.id, ())}
        if saved:
            data['resources'] = {**(data.get('resources') or {}), **saved}
        return Snapshot(found.id, found.stack_id, found.tenant, found.name, action, status, reason, data or None,
                        found.created_at or UNKNOWN_TIME)

    # --- credentials ------------------------------------------------------------------------------------

    def _authority(self, number: int) -> Credentials:
        row = f'user_creds {number}'
        found = self._tree.credentials.get(number)
        if found is None:
            raise NotConvertible(row, _('they are referred to, and gone'))

        def clear(secret: str | None) -> str | None:
            return self._reader.clear(row, found.decrypt_method, secret) if secret else None

        return Credentials(
            id=self._credentials[number], project_id=found.tenant_id, project_name=found.tenant,
            user_id=found.trustor_user_id, username=found.username, auth_url=found.auth_url,
            region_name=found.region_name, trust_id=clear(found.trust_id), trustor_user_id=found.trustor_user_id,
            password=clear(found.password), token=None, method=None,
            created_at=found.created_at or UNKNOWN_TIME)


class _Sources:
    """The templates of one stack, each with a new id."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._ids: dict[int, str] = {}
        self._types: dict[str, Mapping[str, str]] = {}
        self.by_id: dict[str, ConvertedTemplate] = {}

    def add(self, number: int, make: Callable[[int, str], ConvertedTemplate]) -> str:
        """Return the new id of Heat's template `number`."""
        if number not in self._ids:
            template_id = self._new_id()
            self.by_id[template_id] = make(number, template_id)
            self._ids[number] = template_id
        return self._ids[number]

    def type_of(self, template_id: str, name: str) -> str | None:
        """Return the type of that resource in the template; None if the template does not have it."""
        if template_id not in self._types:
            document = Template(dict(self.by_id[template_id].document))
            section, key = document.section('resources'), document.edition.keys.type
            self._types[template_id] = {
                each: snippet[key] for each, snippet in section.items()
                if isinstance(snippet, Mapping) and isinstance(snippet.get(key), str)
            } if isinstance(section, Mapping) else {}
        return self._types[template_id].get(name)


def _is_begun(snapshot: rows.HeatSnapshot) -> bool:
    """Whether it is being made, or an engine was interrupted when it made it."""
    return snapshot.action in (None, Action.CREATE) and snapshot.status == Status.IN_PROGRESS


def state(row: str, action: str | None, status: str | None) -> tuple[Action, Status]:
    """Return action and status of a stack or resource. Raises NotConvertible for words that are none."""
    try:
        return Action(str(action)), Status(str(status))
    except ValueError:
        raise NotConvertible(row, _('its state %(action)s, %(status)s is unknown') % {
            'action': action, 'status': status}) from None


def config(found: rows.HeatSoftwareConfig, reader: HeatValueReader) -> Config:
    """Convert a software config. Raises NotConvertible."""
    row = f'software_config {found.id}'
    return Config(found.id, found.tenant, found.name, found.group, reader.mapping(row, 'config', found.config),
                  found.created_at or UNKNOWN_TIME)


def deployment(found: rows.HeatSoftwareDeployment, reader: HeatValueReader) -> Deployment:
    """Convert a software deployment. Raises NotConvertible."""
    row = f'software_deployment {found.id}'
    for name, word in (('action', found.action), ('status', found.status)):
        if len(word or '') > tables.LONGEST_WORD:       # Heat checks neither
            raise NotConvertible(row, _('its %(name)s has more than %(most)d characters') % {
                'name': name, 'most': tables.LONGEST_WORD})

    def values(column: str, text: str | None) -> dict[str, object] | None:
        return reader.mapping(row, column, text) if text not in (None, 'null') else None

    return Deployment(
        found.id, found.tenant, found.stack_user_project_id, found.server_id, found.config_id, found.action,
        found.status, found.status_reason, values('input_values', found.input_values),
        values('output_values', found.output_values), found.created_at or UNKNOWN_TIME, found.updated_at)
