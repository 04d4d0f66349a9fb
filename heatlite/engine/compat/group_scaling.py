"""`heat.scaling.scalingutil` and `heat.scaling.rolling_update`: sizes and batches of groups, under Heat's names.

Source: docs/spec/plugins.rst, "Former names".
"""

from __future__ import annotations

from heatlite.planning import scaling

CHANGE_IN_CAPACITY, EXACT_CAPACITY, PERCENT_CHANGE_IN_CAPACITY = scaling.ADJUSTMENTS
CFN_CHANGE_IN_CAPACITY, CFN_EXACT_CAPACITY, CFN_PERCENT_CHANGE_IN_CAPACITY = scaling.CFN_NAMES


def calculate_new_capacity(current: int, adjustment: float, adjustment_type: str, min_adjustment_step: int | None,
                           minimum: int, maximum: int | None) -> int:
    """Return the size of a group of `current` members after an adjustment, within its bounds."""
    return scaling.adjusted(current, adjustment, adjustment_type, min_adjustment_step, minimum, maximum)


def needs_update(targ_capacity: int, curr_capacity: int, num_up_to_date: int) -> bool:
    """Whether a rolling update has not reached its end: `num_up_to_date` members have the new definition."""
    return scaling.next_batch(targ_capacity, curr_capacity, num_up_to_date, 1, 0) is not None


def next_batch(targ_capacity: int, curr_capacity: int, num_up_to_date: int, max_batch_size: int,
               min_in_service: int) -> tuple[int, int]:
    """Return (size of the group, number of members that get the new definition) of the next nested update.

    Call it only while `needs_update` is true."""
    batch = scaling.next_batch(targ_capacity, curr_capacity, num_up_to_date, max_batch_size, min_in_service)
    return (batch.size, batch.count) if batch is not None else (curr_capacity, 0)
