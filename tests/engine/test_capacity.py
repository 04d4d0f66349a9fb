"""Which nested stacks begin beside each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from heatlite.engine.durability.pool import Pool
from heatlite.engine.reconcile.capacity import Call, StackCapacity
from heatlite.engine.reconcile.leased_stack import LeasedStack


def stack(stack_id: str, depth: int, size: int) -> LeasedStack:
    return cast('LeasedStack', SimpleNamespace(
        id=stack_id, row=SimpleNamespace(project_id='p', root_id='root', depth=depth), owners=('p', 'root'),
        definition=SimpleNamespace(snippets=dict.fromkeys(range(size))),
        traversal=SimpleNamespace(rows_in_memory=size)))


def test_an_empty_nested_stack_that_stays_holds_up_no_other() -> None:
    """As one whose events were not sent yet."""
    begun: list[Call] = []
    capacity = StackCapacity(cast('Pool', SimpleNamespace(run=lambda call, *owners: begun.append(call))), stacks=10,
                             resources=50)
    first, second, third = (cast('Call', name) for name in ('first', 'second', 'third'))
    for call in (first, second, third):
        capacity.run(call, stack('root', 0, 3), None)
    assert begun == [first]
    capacity.add(stack('empty', 1, 0))
    capacity.returned(first)
    assert begun == [first, second, third]


def test_a_large_one_holds_up_the_next() -> None:
    begun: list[Call] = []
    capacity = StackCapacity(cast('Pool', SimpleNamespace(run=lambda call, *owners: begun.append(call))), stacks=10,
                             resources=50)
    first, second = (cast('Call', name) for name in ('first', 'second'))
    for call in (first, second):
        capacity.run(call, stack('root', 0, 2), None)
    capacity.add(stack('large', 1, 50))
    capacity.returned(first)
    assert begun == [first]
    capacity.remove('large')
    assert begun == [first, second]
