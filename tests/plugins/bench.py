"""A bench for types: a stack to look at, a record in memory, and a writer that remembers what it was given."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.identifier import HeatIdentifier
from heatlite.engine import resource, rsrc_defn, stored_resource
from heatlite.engine.types import registry
from heatlite.planning.states import ResourceState

FIRST_POLLS = 50                            # questions after which a check is taken to hang


class NeverEnds(AssertionError):
    """A check that would go on until the time of its stack is over."""


class SteppedRuntime:
    """Time moves only when somebody sleeps; chance comes from a seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._passed = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1) + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return self._passed

    def sleep(self, seconds: float) -> None:
        self._passed += seconds

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def turn(self):
        pass

    def flag(self) -> threading.Event:
        return threading.Event()

    def random(self) -> float:
        return self._random.random()


class Stack(Mapping[str, Any]):
    """As much of a stack as types look at."""

    strict_validate = True
    env = None
    id = 'stack-id'
    name = 'city'

    def __init__(self, runtime: Any, references: Mapping[str, Any] | None = None) -> None:
        self.runtime = runtime
        self.context = RequestContext(project_id='p', auth_token='t', overwrite=False)
        self.defn = self
        self._references = references or {}

    def referenced_attributes(self, name: str) -> Any:
        return self._references.get(name, ())

    def timeout_secs(self) -> int:
        return 3600

    def identifier(self) -> HeatIdentifier:
        return HeatIdentifier('p', self.name, self.id)

    def has_made(self, physical_id: str, name: str) -> bool:
        return False

    def __getitem__(self, name: str) -> Any:
        raise KeyError(name)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


class Memory:
    """A `ResourceWriter` that remembers."""

    def __init__(self) -> None:
        self.written: list[tuple[Any, ...]] = []
        self.stack: Any = None

    def physical_id(self, resource: Any, value: str | None) -> None:
        self.written.append(('physical_id', value))

    def data(self, resource: Any, key: str, value: str | None, redact: bool) -> None:
        self.written.append(('data', key, value, redact))

    def store_data(self, resource: Any) -> None:
        self.written.append(('store_data',))

    def release(self, resource: Any) -> None:
        self.written.append(('release',))

    def metadata(self, resource: Any, value: dict[str, Any]) -> None:
        self.written.append(('metadata', dict(value)))

    def event(self, resource: Any, action: str, status: str, reason: str) -> None:
        self.written.append(('event', str(action), str(status), reason))

    def state(self, resource: Any, action: str, status: str, reason: str) -> None:
        self.written.append(('state', str(action), str(status), reason))


class Bench:
    """One resource of one type, driven through its life as an engine would."""

    def __init__(self, type_name: str, properties: dict[str, Any] | None = None, name: str = 'r',
                 runtime: Any = None, **parts: Any) -> None:
        self.runtime = runtime or SteppedRuntime()
        self.stack = Stack(self.runtime)
        self.type_name = type_name
        self.name = name
        self.memory = Memory()
        self.definition = self.define(properties, **parts)
        self.record = stored_resource.StoredResource(ResourceState(1, name, self.runtime.uuid(), type_name))
        self.polls: list[Any] = []

    def define(self, properties: dict[str, Any] | None, **parts: Any) -> rsrc_defn.ResourceDefinition:
        return rsrc_defn.ResourceDefinition(self.name, self.type_name, properties, **parts)

    def kind(self) -> type[resource.Resource]:
        return registry.current().resolve(self.type_name, self.name)

    def validate(self) -> Any:
        return self.kind()(self.name, self.definition, self.stack).validate()

    def fresh(self, action: str, status: str = 'IN_PROGRESS') -> resource.Resource:
        """A new object over what is stored, as every piece of work gets one."""
        physical_id = self.record.state.physical_id
        for entry in self.memory.written:
            if entry[0] == 'physical_id':
                physical_id = entry[1]
        if (action, status) != self.record.state.state:
            self.record.before = tuple(str(part) for part in self.record.state.state)
        self.record.state = self.record.state._replace(action=action, status=status, physical_id=physical_id)
        stored = self.record.definition
        definition = (self.definition if stored is None else
                      rsrc_defn.ResourceDefinition.from_stored(self.name, stored, self.record.properties))
        found = self.kind()(self.name, definition, self.stack)
        self.memory.stack = self.stack              # lives as long as the object, which has a weak reference to it
        found.bind(self.record, self.memory)
        return found

    def run(self, action: str, *arguments: Any, observed: Any = None) -> resource.Resource:
        """The handler, then the check until it is true; a second of the world's time passes in between."""
        acting = self.fresh(action)
        acting.observed = observed
        handler = acting.handler(action)
        if handler is not None:
            token = handler(*arguments)
            check = acting.checker(action)
            turns = 0
            while check is not None:
                try:
                    answer = check(token)
                except exception.PollDelay as delay:
                    answer, turns = False, turns + delay.period - 1
                self.polls.append(answer)
                if answer:
                    break
                if len(self.polls) >= FIRST_POLLS:
                    raise NeverEnds('the check never ends')
                self.runtime.sleep(1)
        return acting

    def create(self) -> resource.Resource:
        made = self.run('CREATE')
        made.apply_definition(self.definition)
        return self.fresh('CREATE', 'COMPLETE')

    def update(self, properties: dict[str, Any], **parts: Any) -> Any:
        """The property diff, or None when nothing has to be done. Raises UpdateReplace."""
        old = self.fresh(str(self.record.state.action), str(self.record.state.status))
        after = self.define(properties, **parts)
        comparison = old.compare(after)
        if not old.needs_update(comparison):
            return None
        template_diff, property_diff = old.changes(comparison)
        updated = self.run('UPDATE', after, template_diff, property_diff, observed=old.observed)
        updated.apply_definition(after)
        self.definition = after
        self.fresh('UPDATE', 'COMPLETE')
        return property_diff
