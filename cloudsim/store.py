"""What the simulated cloud holds: tables of things, with indexes. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Thing:
    """One object of a service.

    `data` is what the service shows of it; `hidden` what it keeps for itself; `task` counts its state changes, so that
    one that was overtaken by another can tell.
    """

    __slots__ = ('alive', 'data', 'hidden', 'id', 'number', 'project_id', 'task')

    def __init__(self, id: str, project_id: str | None, data: dict[str, Any], hidden: dict[str, Any]) -> None:
        self.id = id
        self.project_id = project_id
        self.data = data
        self.hidden = hidden
        self.task = 0
        self.alive = True
        self.number = 0

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.data.get(name, default)


class Table:
    """The living things of one kind, in the order they were made."""

    def __init__(self, name: str, indexed: Iterable[str] = ()) -> None:
        self.name = name
        self.things: dict[str, Thing] = {}
        self.made = 0                           # ever
        self._indexes: dict[str, dict[Any, dict[str, Thing]]] = {'name': {}, 'project_id': {}, 'parent': {}}
        for field in indexed:
            self.index(field)

    def index(self, field: str) -> None:
        """From now on `find` by this field is quick. A list is found by each of its members."""
        if field not in self._indexes:
            self._indexes[field] = {}
            for thing in self.things.values():
                self._enter(thing, field, self._value(thing, field))

    def is_indexed(self, field: str) -> bool:
        return field in self._indexes

    def __len__(self) -> int:
        return len(self.things)

    def __iter__(self) -> Iterator[Thing]:
        return iter(list(self.things.values()))

    def get(self, id: str) -> Thing | None:
        return self.things.get(id)

    def add(self, thing: Thing) -> Thing:
        self.made += 1
        thing.number = self.made
        self.things[thing.id] = thing
        for field in self._indexes:
            self._enter(thing, field, self._value(thing, field))
        return thing

    def remove(self, thing: Thing) -> None:
        if self.things.pop(thing.id, None) is None:
            return
        thing.alive = False
        for field in self._indexes:
            self._leave(thing, field, self._value(thing, field))

    def change(self, thing: Thing, **changes: Any) -> None:
        """Sets fields of its data. The only way for fields that are indexed."""
        for field, value in changes.items():
            if field in self._indexes:
                before = thing.data.get(field)
                thing.data[field] = value
                if thing.alive and before != value:
                    self._leave(thing, field, before)
                    self._enter(thing, field, value)
            else:
                thing.data[field] = value

    def find(self, field: str, value: Any) -> list[Thing]:
        """All whose `field` is, or holds, `value`; in the order they were made."""
        if isinstance(value, list | dict):
            return [thing for thing in self.things.values() if thing.data.get(field) == value]
        if field in self._indexes:
            return list(self._indexes[field].get(value, {}).values())
        return [thing for thing in self.things.values() if thing.data.get(field) == value]

    def count(self, field: str, value: Any) -> int:
        """As many `find` would give, for an indexed field."""
        return len(self._indexes[field].get(value, ()))

    @staticmethod
    def _value(thing: Thing, field: str) -> Any:
        if field == 'project_id':
            return thing.project_id
        return thing.hidden.get('parent') if field == 'parent' else thing.data.get(field)

    def _enter(self, thing: Thing, field: str, value: Any) -> None:
        index = self._indexes[field]
        for each in value if isinstance(value, list) else (value,):
            if each is not None and not isinstance(each, list | dict):
                index.setdefault(each, {})[thing.id] = thing

    def _leave(self, thing: Thing, field: str, value: Any) -> None:
        index = self._indexes[field]
        for each in value if isinstance(value, list) else (value,):
            if each is None or isinstance(each, list | dict):
                continue
            found = index.get(each)
            if found:
                found.pop(thing.id, None)
                if not found:
                    del index[each]
