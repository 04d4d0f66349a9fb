"""The copies that types made for a snapshot: the definition that begins with them, and their deletion."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heatlite.common import defects, exception
from heatlite.common.runtime import Runtime
from heatlite.common.wording import first_few
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.reconcile.step_context import definition_of, plain
from heatlite.engine.resource import Resource
from heatlite.engine.resource_keeping import Exported
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.engine.stored_resource import NULL_WRITER, StoredResource
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import StackDefinition
from heatlite.language.unknown import is_known
from heatlite.planning.states import NO_HANDLE, Action, ResourceState, Status

LOG = logging.getLogger(__name__)

MOST_NAMED = 5                          # resources in the reason of a failed deletion


class Entry(Exported):
    """The entry of a resource in the document of a snapshot. `type`, `action` and `status`: as the row had them."""

    type: str
    action: str
    status: str


Entries = Mapping[str, Entry]
"""By the names of the resources. Those of nested stacks are documents, with the key `resources`."""


class SnapshotCopies:
    """Calls types with the entries that they saved, in threads of requests, and of runners whose stack is deleted.

    A type sees the resource as the snapshot has it, whatever has its name today. In its definition the values of other
    resources are unknown, and what it stores is ignored. Nested stacks have no copies, since their parents make their
    definitions.
    """

    def __init__(self, runtime: Runtime, registry: TypeRegistry, reader: StackReader) -> None:
        self._runtime = runtime
        self._registry = registry
        self._reader = reader

    def restored(self, stack_id: str, definition: StackDefinition, saved: Entries) -> Mapping[str, object]:
        """Return the template of a snapshot's definition with the properties that types change by `handle_restore`.
        Functions in other properties stay. Raises EntityNotFound, and StackValidationFailed for an error of a type."""
        snippets, key = dict(definition.snippets), definition.keys.properties
        objects = self._objects(stack_id)
        for name, entry in saved.items():
            each = self._saved(objects, definition, name, entry, 'handle_restore')
            if each is not None and name in definition.resources and each.resource.resource_id is not None:
                snippet = snippets[name]
                snippets[name] = {**snippet, key: _changed(snippet.get(key), each.definition, _restored(each))}
        return {**definition.template.document, definition.edition.sections['resources']: snippets}

    def deletion(self, stack_id: str, definition: StackDefinition, saved: Entries,
                 begun: Mapping[str, object]) -> CopyDeletion:
        """Return the deletion of copies by their types. A copy whose type is gone, or that cannot be called, is left
        and logged: nothing could ever delete it. `begun`: as that of an earlier deletion of them. Raises
        EntityNotFound for the stack."""
        objects, copies = self._objects(stack_id), []
        for name, entry in saved.items():
            try:
                each = self._saved(objects, definition, name, entry, 'handle_delete_snapshot')
            except exception.DatabaseUnavailable:
                raise
            except Exception as error:
                LOG.warning('A copy that %s (%s) of stack %s may have made for a snapshot is left: %s', name,
                            entry['type'], stack_id, defects.text(error))
            else:
                copies += [_Copy(each, begun.get(name, NO_HANDLE))] if each is not None else []
        return CopyDeletion(copies)

    def _objects(self, stack_id: str) -> ResourceObjects:
        objects = self._reader.objects(stack_id)
        if objects is None:
            raise exception.EntityNotFound(entity='Stack', name=stack_id)
        return objects

    def _saved(self, objects: ResourceObjects, definition: StackDefinition, name: str, entry: Entry,
               handler: str) -> _Saved | None:
        """Return a resource of a snapshot; None for a nested stack, and if its type does not have this handler."""
        if 'resources' in entry:                    # a nested stack
            return None
        kind = self._registry.resolve(entry['type'], name, definition.environment)
        if not hasattr(kind, handler):
            return None
        wanted = definition.resources.get(name)
        made = definition_of(name, {'type': entry['type'],
                                    'properties': wanted.guessed_properties() if wanted else {}})
        present = objects.present(name)
        is_same = isinstance(present, kind) and present.resource_id == entry['resource_id']
        resource = present if present and is_same else self._former(objects, definition, made, entry)
        return _Saved(name, entry, made, resource, getattr(resource, handler), objects.facade)

    def _former(self, objects: ResourceObjects, definition: StackDefinition, made: ResourceDefinition,
                entry: Entry) -> Resource:
        """Return the object of a resource that the stack no longer has."""
        state = ResourceState(0, made.name, self._runtime.uuid(), entry['type'], Action(entry['action']),
                              Status(entry['status']), physical_id=entry['resource_id'])
        record = StoredResource(state, metadata=dict(entry.get('metadata') or {}),
                                data=dict(entry.get('resource_data') or {}))
        return objects.make(made, record, definition.environment, NULL_WRITER)


@dataclass(frozen=True)
class _Saved:
    """A resource of a snapshot. `definition`: of that time; `stack`: a resource has only a weak reference to it."""

    name: str
    entry: Entry
    definition: ResourceDefinition
    resource: Resource
    handler: Callable[..., object]
    stack: Stack


class CopyDeletion:
    """The deletion of the copies of one snapshot. Not for several threads at once."""

    def __init__(self, copies: Sequence[_Copy] = ()) -> None:
        self._copies = copies
        self.timeout = max((each.timeout for each in copies), default=0)    # of the stack, seconds

    def go_on(self) -> bool:
        """Begin what has not begun, check what has, and return whether all has ended."""
        waiting = [each for each in self._copies if not each.go_on()]
        return not waiting

    def give_up(self, reason: str) -> None:
        """End, with this reason, what has not ended."""
        for each in self._copies:
            each.give_up(reason)

    @property
    def begun(self) -> Mapping[str, object]:
        """What the handlers of copies have returned, for the checks of a later deletion: by the names of resources."""
        return {each.name: each.handle for each in self._copies if each.handle is not NO_HANDLE}

    @property
    def reason(self) -> str | None:
        """Why some were not deleted; None: all are."""
        return first_few([f'resources.{each.name}: {each.reason}' for each in self._copies if each.reason], MOST_NAMED,
                         '; ') or None


class _Copy:
    """Deletes the copy of one resource: by the handler of its type, then by its check until that returns something
    true. Only the type can say that an error means a copy that is gone."""

    def __init__(self, saved: _Saved, handle: object) -> None:
        """`handle`: what the handler has returned in an earlier deletion, or NO_HANDLE."""
        self.name = saved.name
        self.reason: str | None = None              # why it is not deleted
        self.timeout = saved.stack.timeout_secs()
        self._saved = saved
        self._handle = handle
        self._has_ended = False

    @property
    def handle(self) -> object:
        """What the handler has returned, to be checked later, or NO_HANDLE."""
        return plain(self._handle)

    def go_on(self) -> bool:
        """Call the type, unless it has ended; return whether it has."""
        if not self._has_ended:
            try:
                self._has_ended = self._is_deleted()
            except (exception.PollDelay, exception.DatabaseUnavailable) as later:
                LOG.debug('The copy of %s in stack %s is not deleted yet: %s', self.name, self._saved.stack.id, later)
            except Exception as error:
                self._has_ended, self._handle = True, NO_HANDLE     # another deletion begins again
                defects.log(LOG, error, 'The copy of %s in stack %s could not be deleted', self.name,
                            self._saved.stack.id)
                if not defects.is_defect(error):    # of which no retry helps
                    self.reason = defects.text(error)
        return self._has_ended

    def _is_deleted(self) -> bool:
        if self._handle is NO_HANDLE:
            self._handle = self._saved.handler(self._saved.entry)
        check = getattr(self._saved.resource, 'check_delete_snapshot_complete', None)
        return check is None or bool(check(self._handle))

    def give_up(self, reason: str) -> None:
        if not self._has_ended:
            self._has_ended, self.reason = True, reason


def _restored(saved: _Saved) -> ResourceDefinition:
    try:
        changed = saved.handler(saved.definition, saved.entry)
        if not isinstance(changed, ResourceDefinition):
            raise TypeError(f'handle_restore has returned {type(changed).__name__}, expected a ResourceDefinition')
        return changed
    except exception.DatabaseUnavailable:
        raise
    except Exception as error:
        defects.log(LOG, error, 'The copy of %s in stack %s cannot be restored', saved.name, saved.stack.id)
        raise exception.StackValidationFailed(
            error='Restore error', path=['resources', saved.name], message=defects.text(error)) from error


def _changed(written: object, before: ResourceDefinition,
             after: ResourceDefinition) -> dict[str, object]:
    """Return the properties of a template with what differs between two definitions made of them. A value that is not
    known before the restore stays as it is written."""
    old, new = before['Properties'], after['Properties']
    given = written if isinstance(written, Mapping) else {}
    kept = {name: value for name, value in given.items() if name not in old or name in new}
    return {**kept, **{name: value for name, value in new.items()
                       if is_known(value) and (name not in old or old[name] != value)}}
