"""What a runner may begin in each phase, and that it never goes back to an earlier one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.testing.runtime import Universe

UNTIL = 60.0                            # seconds until which a handler may begin while the runner drains
FIRST, SECOND = ValueError('first'), ValueError('second')
ACTS: dict[str, Any] = {
    'drain': lambda phase: phase.drain(UNTIL), 'stop': lambda phase: phase.stop(),
    'fail': lambda phase: phase.stop(FIRST), 'fail again': lambda phase: phase.stop(SECOND),
    'end': lambda phase: phase.end()}
# Phase -> whether it begins nothing, drains, is stopped, has ended.
PHASES = {
    'driving': (False, False, False, False),
    'draining': (True, True, False, False),
    'stopped': (True, False, True, False),
    'ended': (True, False, True, True)}
ORDER = list(PHASES)


def after(*acts: str, universe: Universe | None = None) -> RunnerPhase:
    runtime = (universe or Universe(0)).process('engine')
    phase = RunnerPhase(runtime, runtime.flag())
    for act in acts:
        ACTS[act](phase)
    return phase


def phase_of(phase: RunnerPhase) -> str:
    seen = phase.begins_nothing, phase.is_draining, phase.is_stopped, phase.has_ended
    return next(name for name, facts in PHASES.items() if facts == seen)


@pytest.mark.parametrize('acts, found', [
    ((), 'driving'),
    (('drain',), 'draining'),
    (('drain', 'drain'), 'draining'),
    (('stop',), 'stopped'),
    (('drain', 'stop'), 'stopped'),
    (('stop', 'drain'), 'stopped'),
    (('fail', 'drain'), 'stopped'),
    (('end',), 'ended'),
    (('end', 'drain'), 'ended'),
    (('end', 'stop'), 'ended'),
    (('drain', 'fail', 'end', 'fail again'), 'ended'),
])
def test_each_act_has_its_phase(acts: tuple[str, ...], found: str) -> None:
    assert phase_of(after(*acts)) == found


@pytest.mark.parametrize('acts', itertools.product(ACTS, repeat=3))
def test_no_act_leads_back(acts: tuple[str, ...]) -> None:
    passed = [ORDER.index(phase_of(after(*acts[:count]))) for count in range(len(acts) + 1)]
    assert passed == sorted(passed)


@pytest.mark.parametrize('acts, of_stored, of_stored_late, of_others', [
    ((), True, True, True),
    (('drain',), True, False, False),
    (('stop',), False, False, False),
    (('drain', 'stop'), False, False, False),
    (('stop', 'drain'), False, False, False),
    (('end',), False, False, False),
])
def test_which_calls_begin(acts: tuple[str, ...], of_stored: bool, of_stored_late: bool, of_others: bool) -> None:
    universe = Universe(0)
    phase = after(*acts, universe=universe)
    assert (phase.may_begin(is_stored=True), phase.may_begin(is_stored=False)) == (of_stored, of_others)
    universe.time = UNTIL
    assert (phase.may_begin(is_stored=True), phase.may_begin(is_stored=False)) == (of_stored_late, of_others)


@pytest.mark.parametrize('acts, defect', [
    (('stop',), None),
    (('fail',), FIRST),
    (('stop', 'fail'), FIRST),
    (('fail', 'stop'), FIRST),
    (('fail', 'fail again'), FIRST),
    (('end', 'fail'), None),            # its end was reported without one
])
def test_which_defect_has_stopped_it(acts: tuple[str, ...], defect: Exception | None) -> None:
    assert after(*acts).defect is defect


@pytest.mark.parametrize('act', ['drain', 'stop', 'fail'])
def test_the_thread_of_the_runner_looks_at_each_change(act: str) -> None:
    runtime = Universe(0).process('engine')
    changed = runtime.flag()
    phase = RunnerPhase(runtime, changed)
    assert not changed.is_set()
    ACTS[act](phase)
    assert changed.is_set()
