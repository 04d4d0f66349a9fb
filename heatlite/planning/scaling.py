"""Computes the batches of a rolling update and the size of a group after an adjustment.

Source: docs/spec/engine.rst, "Rolling updates" and "Scaling groups".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from heatlite.common import turns

CHANGE, EXACT, PERCENT = ADJUSTMENTS = ('change_in_capacity', 'exact_capacity', 'percent_change_in_capacity')
CFN_NAMES = {'ChangeInCapacity': CHANGE, 'ExactCapacity': EXACT, 'PercentChangeInCapacity': PERCENT}


@dataclass(frozen=True, slots=True)
class Batch:
    """One nested update of a rolling update."""

    size: int                           # number of members after it
    count: int                          # number of these that get the new definition in this update


def next_batch(target: int, current: int, updated: int, largest: int, in_service: int) -> Batch | None:
    """Return the next batch on the way from `current` members to `target`; None if the group has its final state.

    `updated`: members with the new definition that will stay; `largest`: the most members changed at once, at least 1;
    `in_service`: members that stay unchanged meanwhile (if the group has that many), if need be with spare members.
    """
    if updated >= target and current == target:
        return None
    count = min(largest, max(target - updated, 0))
    size = count + max(min(current, target - count), min(in_service, target, current))
    return Batch(size, count)


def chosen(names: Sequence[str], existing: Collection[str], stale: Sequence[str], batch: Batch) -> list[str]:
    """Return those of the members `names` that get the new definition now: new ones first, then the first of `stale`.

    `stale`: members that have an old definition and stay to the end, in the order in which to update them.
    """
    new = [name for name in names if name not in existing]
    here = set(names)
    return new + [name for name in stale if name in here][:max(batch.count - len(new), 0)]


def sizes(target: int, current: int, largest: int, in_service: int) -> Iterator[int]:
    """Yield the size of the group after each batch of a rolling update that begins with `current` members."""
    members = dict.fromkeys(range(current), False)          # number -> has the new definition
    while True:
        turns.spend(len(members) + 1)
        updated = sum(new for number, new in members.items() if number < target)
        batch = next_batch(target, len(members), updated, largest, in_service)
        if batch is None:
            return
        names = [str(number) for number in range(batch.size)]
        stale = [str(number) for number in sorted(members, reverse=True) if number < target and not members[number]]
        taken = {int(name) for name in chosen(names, {str(number) for number in members}, stale, batch)}
        members = {number: members.get(number, False) or number in taken for number in range(batch.size)}
        yield batch.size


def growing(target: int, largest: int) -> Iterator[int]:
    """Yield the size of the group after each batch of its creation."""
    size = 0
    while size < target:
        size = min(size + largest, target)
        yield size


def adjusted(current: int, adjustment: float, adjustment_type: str, least_step: int | None, lower: int,
             upper: int | None) -> int:
    """Return the new size of a group of `current` members. `adjustment_type`: one of ADJUSTMENTS or a key of CFN_NAMES.

    `least_step`: the smallest change by percentage. `upper` None: no limit. Raises ValueError for an unknown type.
    """
    match CFN_NAMES.get(adjustment_type, adjustment_type):
        case 'change_in_capacity':
            size = current + int(adjustment)
        case 'exact_capacity':
            size = int(adjustment)
        case 'percent_change_in_capacity':
            size = current + _by_percent(current * adjustment / 100, adjustment, least_step)
        case _:
            raise ValueError(f'Unknown adjustment type {adjustment_type}')
    if upper is not None:
        size = min(size, upper)
    return max(size, lower)


def _by_percent(difference: float, adjustment: float, least_step: int | None) -> int:
    """Round away from zero below one member, towards zero above it."""
    if abs(difference) < 1:
        step = math.ceil(difference) if difference > 0 else math.floor(difference)
    else:
        step = math.trunc(difference)
    if least_step and abs(step) < least_step:
        step = least_step if adjustment > 0 else -least_step
    return step
