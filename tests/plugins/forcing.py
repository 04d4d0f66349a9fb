"""A forced delete of each of our own types, while the service refuses, breaks, hangs or loses its answers.

`python -m tests.plugins.forcing [NAME ...]` prints what differs from what `forced_deletes.yaml` says; with `--record`
it writes that file, for all types; with `--page` it writes docs/users/forced-deletes.rst from the file.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any
from unittest.mock import patch

import yaml
from oslo_config import cfg

from heatlite.common import runtime as runtimes
from heatlite.db import forced_deletes
from heatlite.rpc import messages
from heatlite.testing.scenario import ResourceScenario
from tests.plugins import checking
from tests.plugins.own_types import HERE

RECORD = HERE / 'forced_deletes.yaml'
PAGE = HERE.parents[1] / 'docs' / 'users' / 'forced-deletes.rst'
TIMEOUT = 120.0                     # [engine] force_delete_timeout, virtual seconds
GRACE = 60.0                        # until a delete that is late has ended, virtual seconds
PATIENCE = 1.0                      # seconds until a request that hangs is given up
BUSY = {'work': 5.0, 'boot': 5.0}   # that changes of state take in the cloud, virtual seconds: more than until a retry
# One engine whose statements do not give way: minutes of waiting cost a third. tests/simulation kills engines.
CLUSTER: dict[str, Any] = {'engines': 1, 'interleaved': False, 'engine.force_delete_timeout': TIMEOUT}
ROUNDED = 10                        # virtual seconds: the record has no finer times
ALWAYS = 0
LATE = 'Its delete was not over'    # the beginning of the reason if the time was over, and not that of an error


@dataclass(frozen=True)
class Fault:
    """What happens to DELETE requests: what users read of it, the rule for the simulated cloud, and whether a delete
    must overcome it."""

    text: str
    rule: Mapping[str, Any]
    is_overcome: bool = False


FAULTS = {
    'conflict': Fault('refuses each request (409)', {'kind': 'error', 'status': 409, 'count': ALWAYS}),
    'broken': Fault('fails with each request (500)', {'kind': 'error', 'status': 500, 'count': ALWAYS}),
    'broken half way': Fault('fails from the second request on (500)',
                             {'kind': 'error', 'status': 500, 'count': ALWAYS, 'nth': 2}),
    'failed': Fault('accepts it, and the object ends in an error', {'kind': 'fail', 'count': ALWAYS}),
    'stuck': Fault('accepts it, and never ends it', {'kind': 'stay', 'count': ALWAYS}),
    'hang': Fault('does not answer the first request', {'kind': 'hang', 'seconds': 30, 'count': 1}, is_overcome=True),
    'lost': Fault('does it, and the first answer is lost', {'kind': 'lost', 'count': 1}, is_overcome=True),
    'lost half way': Fault('does it, and the second answer is lost', {'kind': 'lost', 'count': 1, 'nth': 2},
                           is_overcome=True),
    'throttled': Fault('asks to come back in 3 seconds, twice (429)', {'kind': 'throttle', 'seconds': 3, 'count': 2},
                       is_overcome=True),
    'gone': Fault('has lost the object already (404)', {'kind': 'gone', 'count': ALWAYS}, is_overcome=True),
}


@dataclass(frozen=True)
class Forced:
    """One forced delete. `seconds`: virtual; `left`: reasons of what it lists; `unlisted`: is in the cloud, and not in
    the list."""

    seconds: float
    left: tuple[str, ...]
    unlisted: tuple[Any, ...] = ()

    @property
    def outcome(self) -> str | None:
        """'late' or 'failed' if something was left."""
        if not self.left:
            return None
        return 'late' if any(each.startswith(LATE) for each in self.left) else 'failed'


def under(found: Any, cloud_of: Any, name: str, fault: str) -> Forced:
    """One type and one fault."""
    cloud, example = cloud_of(name), found.example(name)[1]
    cloud.reset()
    with ResourceScenario(name, example, cloud, found.register, **CLUSTER) as scenario:
        failure = scenario.prepare() or scenario.put(example.properties)
        assert failure is None, failure
        with _impatient():
            usual = cloud._ask('GET', '/_sim/settings')
            cloud._ask('PUT', '/_sim/settings', BUSY)
            cloud._ask('POST', '/_sim/faults', {'method': 'DELETE', **FAULTS[fault].rule})
            cluster = scenario.cluster
            began = cluster.universe.time
            cluster.ask(messages.ForceDeleteStack(scenario.stack_id))
            cluster.until_deleted(scenario.stack_id, limit=2 * (TIMEOUT + GRACE))
        with cluster.database.reader() as tx:
            stored = forced_deletes.show(tx, scenario.stack_id)
        left = () if stored is None else stored.left_behind or ()
        result = Forced(cluster.universe.time - began, tuple(each.reason for each in left),
                        () if left else tuple(scenario.new_things() or ()))
    cloud._ask('PUT', '/_sim/settings', {name: usual[name] for name in BUSY})
    cloud.reset()
    return result


@contextmanager
def _impatient() -> Iterator[None]:
    """Libraries that wait between two attempts do so in virtual time; a request that hangs is given up soon."""
    cfg.CONF.set_override('timeout', PATIENCE, group='clients')
    try:
        with patch.object(time, 'sleep', lambda seconds: runtimes.current().sleep(seconds)):
            yield
    finally:
        cfg.CONF.clear_override('timeout', group='clients')


def of(found: Any, cloud_of: Any, name: str) -> Mapping[str, Forced] | None:
    """Tries one type under all faults; None without an example."""
    if found.example(name) is None:
        return None
    return {fault: under(found, cloud_of, name, fault) for fault in FAULTS}


# --- what is known --------------------------------------------------------------------------------------------

def recorded() -> Mapping[str, Mapping[str, Any]]:
    """Fault -> {types: how many were tried, seconds: the longest, failed, late: types with something left}."""
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(RECORD.read_text())
    return found


def differences(name: str, found: Mapping[str, Forced]) -> Iterator[str]:
    """What was found and is not as it must be, or not as `forced_deletes.yaml` says."""
    known = recorded() if RECORD.exists() else {}
    for fault, forced in found.items():
        yield from (f'{name}, {fault}: {text}' for text in _wrong(name, FAULTS[fault], forced, known.get(fault)))


def _wrong(name: str, fault: Fault, forced: Forced, known: Mapping[str, Any] | None) -> Iterator[str]:
    if forced.seconds > TIMEOUT + GRACE:
        yield f'it took {forced.seconds:.0f} seconds'
    if not all(forced.left):
        yield 'something is listed without a reason'
    if forced.unlisted:
        yield f'left, and not listed: {forced.unlisted}'
    if fault.is_overcome and forced.left:
        yield f'left: {forced.left}'
    if known is not None:
        expected = next((outcome for outcome in ('failed', 'late') if name in known[outcome]), None)
        if expected != forced.outcome:
            yield f'recorded as {expected}, and found as {forced.outcome}'
        if forced.seconds > known['seconds']:
            yield f"recorded with at most {known['seconds']} seconds, and took {forced.seconds:.0f}"


def record(results: Mapping[str, Mapping[str, Forced]]) -> None:
    RECORD.write_text('# Written by `python -m tests.plugins.forcing --record`: what forced deletes of all types have '
                      'shown.\n' + yaml.safe_dump({fault: _summed(
                          {name: found[fault] for name, found in results.items()}) for fault in FAULTS},
                          sort_keys=False, width=116))


def _summed(results: Mapping[str, Forced]) -> dict[str, Any]:
    return {'types': len(results), 'seconds': ceil(max(each.seconds for each in results.values()) / ROUNDED) * ROUNDED,
            **{outcome: sorted(name for name, each in results.items() if each.outcome == outcome)
               for outcome in ('failed', 'late')}}


def page() -> Iterator[str]:
    """The lines of the page."""
    known = recorded()
    yield from (
        'Forced deletes under faults', '===========================', '',
        'Written by ``python -m tests.plugins.forcing --page`` and checked by',
        '``tests/plugins/test_forced_deletes.py``, which forces the delete of a stack with one resource of each type',
        'in the simulated cloud while a fault hits the requests to delete, with ``[engine] force_delete_timeout``',
        f'of {TIMEOUT:.0f} seconds. `letting-go.rst <letting-go.rst>`_ says what a forced delete is.', '',
        '.. list-table::', '   :header-rows: 1', '   :widths: 40 12 12 18 18', '',
        '   * - The service', '     - Types', '     - Seconds, at most', '     - Types with objects left: its error',
        '     - Types with objects left: out of time')
    for fault, said in FAULTS.items():
        entry = known[fault]
        yield f'   * - {said.text}'
        yield from (f'     - {each}' for each in (
            entry['types'], entry['seconds'], len(entry['failed']), len(entry['late'])))
    yield from (
        '', 'What was left is in the list of the stack, with a reason for each; in no case was something left and',
        'nothing listed. Types leave nothing under one of the first five faults if they have no object that is',
        'deleted, or if the fault does not concern them: an object that is deleted at once never ends in an error.', '')


def shown(result: Mapping[str, Forced]) -> str:
    return ', '.join(f'{fault} {each.seconds:.0f} s{f" ({each.outcome})" if each.outcome else ""}'
                     for fault, each in result.items())


def main(arguments: list[str]) -> int:
    results: dict[str, Mapping[str, Forced]] = {}

    def kept(name: str, result: Mapping[str, Forced]) -> Iterator[str]:
        results[name] = result
        return differences(name, result)

    is_recorded = arguments == ['--record']
    if is_recorded:
        RECORD.unlink(missing_ok=True)
    wrong = checking.main([] if is_recorded else arguments, PAGE, page, of, kept, shown)
    if is_recorded:
        record(results)
    return wrong


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
