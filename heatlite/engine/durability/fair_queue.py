"""A queue whose users take turns: one with thousands of items delays the single item of another by one, not by all."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar('T')


class FairQueue(Generic[T]):
    """Items have keys: those of whom they are, from the outside in, such as project and stack. All items have the same
    number of keys. First keys take turns, within each its second keys, and so on.

    Items with the same last key stay in order: it keeps the other keys that it came with while items with it wait.
    """

    def __init__(self) -> None:
        self._turns: _Turns[T] = _Turns()
        self._keys: dict[str, Sequence[str]] = {}       # last key -> all keys
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def is_shared(self) -> bool:
        """Whether items with different first or second keys wait."""
        return self._turns.is_shared

    def users(self, key: str) -> int:
        """The number of second keys with items that wait below a first key."""
        return self._turns.below(key)

    def put(self, item: T, *keys: str) -> None:
        self._turns.put(item, self._keys.setdefault(keys[-1], keys))
        self._size += 1

    def take(self) -> T:
        """Remove and return the next item. Raises KeyError when there is none."""
        item, ended = self._turns.take()
        if ended is not None:
            del self._keys[ended]
        self._size -= 1
        return item

    def take_many(self, most: int) -> Sequence[T]:
        """Remove and return the next items, `most` at most."""
        return [self.take() for _ in range(min(most, self._size))]

    def clear(self) -> None:
        self._turns, self._size = _Turns(), 0
        self._keys.clear()


class _Turns(Generic[T]):
    """The items below one key, or all."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[str, _Turns[T] | deque[T]] = OrderedDict()        # the first one is the next one

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def is_shared(self) -> bool:
        return len(self._by_key) > 1 or any(len(below) > 1 for below in self._by_key.values()
                                            if isinstance(below, _Turns))

    def below(self, key: str) -> int:
        return len(self._by_key.get(key, ()))

    def put(self, item: T, keys: Sequence[str]) -> None:
        key = keys[0]
        below = self._by_key.get(key)
        if below is None:
            below = self._by_key[key] = _Turns() if keys[1:] else deque()
        if isinstance(below, _Turns):
            below.put(item, keys[1:])
        else:
            below.append(item)

    def take(self) -> tuple[T, str | None]:
        """The next item, and its last key if it was the last item with it."""
        key, below = self._by_key.popitem(last=False)
        if isinstance(below, _Turns):
            item, ended = below.take()
        else:
            item = below.popleft()
            ended = None if below else key
        if below:
            self._by_key[key] = below           # behind the others
        return item, ended
