"""A queue whose users take turns: one with thousands of items delays the single item of another by one, not by all."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

T = TypeVar('T')

NO_OWNERS = ('', '')             # keys, as projects and root stacks are, of work that is of no stack

# The items below a key; or below one that is not the last one, by the next key: that at the front takes its turn next.
_Below: TypeAlias = 'OrderedDict[str, _Below[T]] | deque[T]'


class FairQueue(Generic[T]):
    """Items have keys: those of whom they are, from the outside in, such as project and stack. All items have the same
    number of keys. First keys take turns, within each its second keys, and so on.

    Items with the same last key stay in order: it keeps the other keys that it came with while items with it wait.
    """

    def __init__(self) -> None:
        self._turns: OrderedDict[str, _Below[T]] = OrderedDict()
        self._items: dict[str, deque[T]] = {}           # last key -> the items below it
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def users(self, key: str | None = None) -> int:
        """Return the number of second keys with items that wait, in all or below a first key."""
        if key is None:
            return sum(map(len, self._turns.values()))
        return len(self._turns.get(key, ()))

    def first_keys(self) -> Iterable[str]:
        """Return the first keys of the items that wait, that of the next item first."""
        return self._turns

    def put(self, item: T, *keys: str) -> None:
        self._size += 1
        items = self._items.get(keys[-1])
        if items is None:
            items = self._items[keys[-1]] = self._begin(keys)
        items.append(item)

    def next(self) -> T:
        """Return the item that `take` removes next. Raises KeyError when there is none."""
        if not self._size:
            raise KeyError('the queue is empty')
        below: _Below[T] = self._turns
        while isinstance(below, OrderedDict):
            below = below[next(iter(below))]
        return below[0]

    def take(self, first: str | None = None) -> T:
        """Remove and return the next item; with one of `first_keys`, the next one of these. Raises KeyError when there
        is none."""
        if not self._size:
            raise KeyError('the queue is empty')
        self._size -= 1
        if self._size and len(self._items) == 1:
            return next(iter(self._items.values())).popleft()
        path: list[tuple[OrderedDict[str, _Below[T]], str]] = []
        below: _Below[T] = self._turns
        while isinstance(below, OrderedDict):
            key = next(iter(below)) if first is None or path else first
            if len(below) > 1:
                below.move_to_end(key)
            path.append((below, key))
            below = below[key]
        item = below.popleft()
        if not below:
            self._end(path)
        return item

    def take_many(self, most: int) -> Sequence[T]:
        """Remove and return the next items, `most` at most."""
        if most >= self._size and len(self._items) == 1:
            found = [*next(iter(self._items.values()))]
            self.clear()
            return found
        return [self.take() for _ in range(min(most, self._size))]

    def clear(self) -> None:
        self._turns.clear()
        self._items.clear()
        self._size = 0

    def _begin(self, keys: Sequence[str]) -> deque[T]:
        """Place for the items of a new last key."""
        level = self._turns
        for key in keys[:-1]:
            below = level.setdefault(key, OrderedDict())
            assert isinstance(below, OrderedDict), 'all items have the same number of keys'
            level = below
        items: deque[T] = deque()
        level[keys[-1]] = items
        return items

    def _end(self, path: Sequence[tuple[OrderedDict[str, _Below[T]], str]]) -> None:
        """Remove the keys of which the last item was taken."""
        del self._items[path[-1][1]]
        for level, key in reversed(path):
            del level[key]
            if level:
                return
