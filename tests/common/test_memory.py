"""A process that was large for a while gives its memory back, and spends little time on trying."""

import gc
import weakref

import pytest

from heatlite.common import memory
from heatlite.common.memory import (
    AT_ONCE,
    GROWTH,
    LARGE,
    LONGEST_PAUSE,
    MOST_PATIENCE,
    PAUSE,
    POLL_SECONDS,
    LargeWork,
    Reclaimer,
)
from heatlite.testing.runtime import Universe

BASE = 100 * 2 ** 20


class Process:
    """`size`: bytes, of which `idle` are not in use."""

    def __init__(self):
        self.universe = Universe(0)
        self.size, self.idle = BASE, 0
        self.released_at = []
        runtime = self.universe.process('engine')
        self.kept, self.work = [], LargeWork()
        self.fails = False
        runtime.spawn(Reclaimer(runtime, self.resident, self.release, self.kept.append, self.work).run)

    def resident(self):
        if self.fails:
            raise OSError('too many open files')
        return self.size

    def release(self):
        self.released_at.append(self.universe.time)
        self.size, self.idle = self.size - self.idle, 0

    def wait(self, seconds):
        end = self.universe.time + seconds
        self.universe.run(lambda: self.universe.time >= end, limit=seconds)


def test_what_a_large_work_has_left_is_given_back():
    process = Process()
    process.wait(100)
    process.size, process.idle = BASE + 10 * GROWTH, 10 * GROWTH
    process.wait(2 * PAUSE)
    assert process.size == BASE
    process.wait(1000)
    assert len(process.released_at) == 1


@pytest.mark.parametrize('resources, at_once', [(LARGE, False), (LARGE + 1, True)])
def test_what_a_large_stack_has_left_is_given_back_when_its_action_ends(resources, at_once):
    process = Process()
    process.wait(10)
    process.size, process.idle = BASE + GROWTH, GROWTH
    process.work.ended(resources)
    process.wait(POLL_SECONDS / 100)
    assert (process.size == BASE) == at_once
    process.wait(10)
    assert len(process.released_at) == at_once


def test_what_cannot_be_given_back_is_said():
    process = Process()
    process.wait(10)
    process.size, process.idle = BASE + 10 * GROWTH, 4 * GROWTH
    process.wait(3 * PAUSE)
    assert process.kept[0] == 6 * GROWTH
    process.size = BASE
    process.wait(LONGEST_PAUSE)
    assert set(process.kept) == {6 * GROWTH}


def test_a_small_process_is_left_alone():
    process = Process()
    process.wait(10)
    process.size, process.idle = BASE + GROWTH - 1, GROWTH - 1
    process.wait(1000)
    assert not process.released_at


def test_memory_that_is_in_use_is_looked_for_less_and_less_often():
    process = Process()
    process.wait(10)
    process.size = BASE + 10 * GROWTH
    process.wait(4 * 3600)
    assert len(process.released_at) < 4 * 3600 / LONGEST_PAUSE + 10
    gaps = [later - earlier for earlier, later in zip(process.released_at, process.released_at[1:], strict=False)]
    assert gaps == sorted(gaps)
    process.idle = 10 * GROWTH                  # the work has ended at last
    process.wait(LONGEST_PAUSE + 1)
    assert process.size == BASE


def test_fast_growth_is_stopped_at_once():
    """Each request leaves 32 MiB of what only a collection frees."""
    process = Process()
    process.wait(10)
    largest = 0
    for _ in range(100):
        process.size, process.idle = process.size + GROWTH, process.idle + GROWTH
        process.wait(POLL_SECONDS)
        largest = max(largest, process.size)
    assert largest <= BASE + AT_ONCE + GROWTH
    assert len(process.released_at) <= 100 / (AT_ONCE / GROWTH) + 1


def test_a_process_that_needs_what_it_takes_is_seldom_held_up():
    """It grows by 16 MiB a second, and all is in use: each release costs as much as there is."""
    process = Process()
    for _ in range(200):
        process.size += GROWTH // 2
        process.wait(POLL_SECONDS)
    assert process.size > 3000 * 2 ** 20 and len(process.released_at) < 20


def test_objects_that_refer_to_each_other_are_released():
    gc.collect()

    class Node:
        freed = 0

        def __init__(self):
            self.me = self

        def __del__(self):
            Node.freed += 1

    Node()
    assert not Node.freed
    memory.release()
    assert Node.freed == 1
    assert memory.resident() > 2 ** 20


def test_fast_growth_by_what_is_in_use_is_looked_at_less_often():
    process = Process()
    process.wait(10)
    for _ in range(14):                         # a large stack is created
        process.size += AT_ONCE // 2
        process.wait(POLL_SECONDS)
    assert len(process.released_at) == 3        # after 1, 2 and 4 times as much
    largest = 0
    for _ in range(100):                        # now requests leave what a collection frees
        process.size, process.idle = process.size + GROWTH, process.idle + GROWTH
        process.wait(POLL_SECONDS)
        largest = max(largest, process.idle)
    assert largest <= MOST_PATIENCE * AT_ONCE + GROWTH
    assert len(process.released_at) > 3 + 100 // (2 * MOST_PATIENCE)


def test_an_error_does_not_end_the_looks():
    process = Process()
    process.wait(10)
    process.fails = True                        # no file descriptor is left
    process.size, process.idle = BASE + 10 * GROWTH, 10 * GROWTH
    process.wait(PAUSE)
    assert process.size > BASE
    process.fails = False
    process.wait(PAUSE)
    assert process.size == BASE


def test_what_is_in_use_for_long_does_not_let_others_grow():
    process = Process()
    process.wait(10)
    process.size += GROWTH + 1                  # a cache
    process.wait(4 * 3600)
    before, largest = len(process.released_at), 0
    for _ in range(20):
        process.size, process.idle = process.size + GROWTH, process.idle + GROWTH
        process.wait(POLL_SECONDS)
        largest = max(largest, process.idle)
    assert largest <= AT_ONCE + GROWTH and len(process.released_at) > before + 5


class Link:
    """Refers to itself, so only a collection frees it."""

    def __init__(self):
        self.own = self


def test_old_objects_are_looked_at_when_memory_is_given_back():
    before = gc.get_threshold()
    memory.leave_old_objects()
    try:
        old = Link()
        seen = weakref.ref(old)
        gc.collect(1)
        del old
        more = [[number] for number in range(10 * before[0] * before[1])]
        assert seen() is not None and more
        memory.release()
        assert seen() is None
    finally:
        gc.set_threshold(*before)


def test_what_was_there_at_the_start_is_not_looked_at():
    old = Link()
    seen = weakref.ref(old)
    gc.freeze()
    try:
        del old
        memory.release()
        assert seen() is not None
    finally:
        gc.unfreeze()
    memory.release()
    assert seen() is None
