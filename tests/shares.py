"""Which tests take long, and which of them a part of a run executes: the time of a machine is limited.

HEATLITE_TEST_SHARE names the part; without it, all are executed. `python -m tests.shares NUMBER SECONDS` prints that of
a commit: see `of_commit`.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable

# Left out by `make test`, with what the marker `thorough` says of single tests: long, or with real processes.
THOROUGH = (
    'contrib/plugins/approval/', 'contrib/plugins/process/', 'contrib/plugins/twofellows/test_twofellows_service.py',
    'tests/api/test_console.py', 'tests/cloud/', 'tests/cmd/test_doctor.py::test_the_command',
    'tests/cmd/test_doctor.py::test_what_cannot_start', 'tests/cmd/test_help.py::test_the_help_of_commands',
    'tests/cmd/test_keys.py', 'tests/cmd/test_setup.py', 'tests/cmd/test_standard_output.py',
    'tests/common/test_key_manager.py', 'tests/console/', 'tests/editing/test_program.py', 'tests/hostile/',
    'tests/isolation/test_production.py', 'tests/plugins/openstack/test_fault_matrix.py',
    'tests/plugins/openstack/test_services.py::test_nobody_at_home', 'tests/plugins/test_changes',
    'tests/plugins/test_conformance.py::test_life', 'tests/plugins/test_drift.py::test_what_was_changed',
    'tests/plugins/test_forced_deletes.py', 'tests/plugins/test_importing.py', 'tests/plugins/test_kit.py',
    'tests/rpc/test_broker.py', 'tests/security/test_services.py', 'tests/simulation/', 'tests/system/',
    'tests/takeover/test_command.py', 'tests/takeover/test_transfer.py', 'tests/upgrade/test_load.py')
# Of those, a few quick ones for each part of an engine's work.
QUICK = tuple(f'tests/simulation/test_{each}.py' for each in (
    'cycles', 'deciding_types', 'drift', 'giving_way', 'plan_checks', 'reading', 'replacement_causes', 'request_tokens',
    'restricted', 'sealing', 'settled', 'signals', 'stack_sets', 'statement_cache', 'unchanged'))


# One test for each type, fault, seed, database or kind of process, each of seconds. With HEATLITE_TEST_SHARE one share
# of each of them is executed; without it, all are.
SWEEPS = (
    'tests/hostile/test_hostile.py::test_a_case', 'tests/hostile/test_hostile.py::test_a_grown',
    'tests/hostile/test_hostile.py::test_a_peer_costs',
    'tests/plugins/openstack/test_fault_matrix.py::test_a_fault', 'tests/plugins/test_changes',
    'tests/plugins/test_conformance.py::test_life', 'tests/plugins/test_drift.py::test_what_was_changed',
    'tests/plugins/test_forced_deletes.py::test_it_ends', 'tests/plugins/test_importing.py::test_an_object',
    'tests/simulation/test_alarms.py::test_a_request_that_fails', 'tests/simulation/test_preview.py::test_an_update',
    'tests/simulation/test_software.py::test_a_config_that', 'tests/simulation/test_software.py::test_deployments_made',
    'tests/simulation/test_unvisited.py::test_an_update', 'tests/simulation/test_unvisited.py::test_the_result',
    'tests/system/test_alarms.py::test_', 'tests/system/test_benchmarks.py::test_a_benchmark',
    'tests/system/test_configuration.py::test_',
    'tests/system/test_doctor.py::test_a_fault', 'tests/system/test_log_rates.py::test_an_outage',
    'tests/system/test_poison.py::test_a_delete_that_ends', 'tests/system/test_poison.py::test_a_stack_that_ends',
    'tests/system/test_poison.py::test_a_stop_reaches', 'tests/system/test_restore.py::test_a_restore_takes_over',
    'tests/system/test_take_over.py::test_', 'tests/system/test_two_regions.py::test_a_service_that_fails',
    'tests/takeover/test_transfer.py::test_rows_that_make')
# Tests in a few deployments, each of seconds. With HEATLITE_TEST_SHARE each of them is executed in one of these, and in
# another one with another share.
DEPLOYMENTS = (
    'tests/system/test_canaries.py::test_', 'tests/system/test_commands.py::test_',
    'tests/system/test_doors.py::test_any_server', 'tests/system/test_failover.py::test_',
    'tests/system/test_poison.py::test_a_lone_service_gives_up', 'tests/system/test_production.py::test_the_profile')
# With HEATLITE_TEST_SHARE, what is thorough in a file is executed with every seventh share only.
TURNS = 7
SHARES = 42                             # of which a commit executes one: each turn has six parts of the sweeps
DAY = 24 * 60 * 60                      # seconds


def is_thorough(name: str) -> bool:
    """Whether the test is listed as thorough. Those that have only the marker are executed with every share."""
    return name.startswith(THOROUGH) and not name.startswith(QUICK)


def of_commit(number: int, seconds: int) -> int:
    """Return the share that a commit executes, from 1. `number`: of the commit; `seconds`: when it was made,
    since 1970.

    The day decides on the turn, so that each file is executed at least once in seven days with commits in a row."""
    return number % (SHARES // TURNS) * TURNS + seconds // DAY % TURNS + 1


def of(names: Iterable[str], share: int, shares: int) -> set[str]:
    """Return those of these tests that a share executes, 1 to `shares`. All shares together execute all of them.

    It follows from the names alone, whatever their order. Sweeps begin with different shares: those that are shorter
    than there are shares would all be in the first ones. Tests of a file are in the same deployment: some go on with
    what others have made there.
    """
    found = set(names)
    if shares == 1:
        return found
    turns = min(TURNS, shares)
    part, turn = divmod(share - 1, turns)
    found = {name for name in found if not is_thorough(name) or _number(_file(name)) % turns == turn}
    for beginning, group in _swept(found).items():
        if is_thorough(group[0]):
            parts, wanted = len(range(turn, shares, turns)), part       # the shares that execute this file
        else:
            parts, wanted = shares, share - 1
        first = _number(beginning)
        if beginning.startswith(DEPLOYMENTS):
            first, parts = _number(_file(beginning)), min(parts, len(group))
        found -= {name for number, name in enumerate(group, first) if number % parts != wanted % parts}
    return found


def _swept(names: Iterable[str]) -> dict[str, list[str]]:
    """Return name of a test without its parameter -> its tests, in order, of SWEEPS and DEPLOYMENTS."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        if name.startswith(SWEEPS) or name.startswith(DEPLOYMENTS):
            found.setdefault(name.partition('[')[0], []).append(name)
    return found


def _file(name: str) -> str:
    return name.partition('::')[0]


def _number(text: str) -> int:
    return zlib.crc32(text.encode())


if __name__ == '__main__':
    print(f'{of_commit(*map(int, sys.argv[1:]))}/{SHARES}')
