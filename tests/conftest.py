"""What holds for all tests: properties are judged by what they find, never by how busy the machine is, and no test
hears of an outage that another one has caused."""

import gc
import itertools
import os
import zlib

import pytest
from hypothesis import HealthCheck, settings

from heatlite.common import outages, repeats, runtime
from tests import leftovers

settings.register_profile('unhurried', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('unhurried')
runtime.collect_rarely()


# Files that take minutes, or wait for processes. With several workers, the last file to begin decides when a run ends.
FIRST = ('tests/simulation/', 'tests/system/', 'tests/hostile/', 'tests/plugins/test_changes', 'tests/cloud/',
         'tests/console/', 'tests/rpc/test_broker.py', 'tests/upgrade/')


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


# One test for each type, fault, seed, database or kind of process, each of seconds. HEATLITE_TEST_SHARE=2/4 executes
# the second quarter of each of them; without it, all are executed.
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
# Scenarios and sets of scenarios, each of a minute or more on two busy cores, the longest first. With
# HEATLITE_TEST_SHARE a quarter of them is executed, and another one with the next share.
SCENARIOS = (
    'tests/system/test_packages.py', 'tests/system/test_autoscaling.py', 'tests/system/test_two_regions.py',
    'tests/simulation/test_nested.py::test_killed_', 'tests/system/test_chaos.py', 'tests/upgrade/test_load.py',
    'tests/system/test_foretold.py', 'tests/simulation/test_restarter.py', 'tests/system/test_set_projects.py',
    'tests/system/test_tutorial.py', 'tests/system/test_key_rotation.py', 'tests/simulation/test_project_templates.py',
    'tests/simulation/test_scaling.py', 'tests/simulation/test_plans.py::test_random', 'tests/system/test_gabbi.py',
    'tests/simulation/test_random_refactors.py', 'tests/simulation/test_crashes.py::test_killed_at_any_point',
    'tests/simulation/test_bad_types.py', 'tests/system/test_set_kills.py', 'tests/simulation/test_aborts.py',
    'tests/system/test_log_rates.py', 'tests/simulation/test_letting_go.py', 'tests/system/test_walk.py',
    'tests/system/test_users.py')
QUARTERS = 4
SHARE, SHARES = map(int, os.environ.get('HEATLITE_TEST_SHARE', '1/1').split('/'))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    if item.nodeid.startswith(THOROUGH) and not item.nodeid.startswith(QUICK):
        item.add_marker(pytest.mark.thorough)


def pytest_collection_finish():
    gc.freeze()             # tests and modules stay until the end: each collection would go through them again


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Begins with those files, and makes what a module shares once for each parameter, also in a random order."""
    left_out = not_of_share(items)
    config.hook.pytest_deselected(items=left_out)
    dropped = set(left_out)
    items[:] = [item for item in items if item not in dropped]
    groups = {}
    for item in items:
        groups.setdefault((item.path, shared(item)), []).append(item)
    modules = {}
    for (path, _shared), group in groups.items():
        modules.setdefault(path, []).extend(group)
    items[:] = itertools.chain.from_iterable(modules.values())
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def not_of_share(items):
    """The tests of sweeps, the scenarios, and the tests in other deployments, that another share executes. It follows
    from their names alone, whatever their order.

    Sweeps begin with different shares: those that are shorter than there are shares would all be in the first ones.
    Tests of a file are in the same deployment: some go on with what others have made there."""
    if SHARES == 1:
        return []
    others = tuple(name for number, name in enumerate(SCENARIOS) if number % QUARTERS != SHARE % QUARTERS)
    left_out = [item for item in items if item.nodeid.startswith(others)]
    here = [item for item in items if not item.nodeid.startswith(others)]
    for (name, several), group in swept(here).items():
        group.sort(key=lambda each: each.nodeid)
        shares, beginning = (len(group), name.partition('::')[0]) if several else (SHARES, name)
        left_out += [item for number, item in enumerate(group, zlib.crc32(beginning.encode()))
                     if number % shares != (SHARE - 1) % shares]
    return left_out


def swept(items):
    """{(name without parameters, whether it is one of DEPLOYMENTS): its items}"""
    found = {}
    for item in items:
        several = item.nodeid.startswith(DEPLOYMENTS)
        if several or item.nodeid.startswith(SWEEPS):
            found.setdefault((item.nodeid.partition('[')[0], several), []).append(item)
    return found


def shared(item):
    """The parameters of what the item shares with other tests of its module: (fixture, index)."""
    callspec = getattr(item, 'callspec', None)
    if callspec is None:
        return ()
    fixtures = item._fixtureinfo.name2fixturedefs
    return tuple((name, callspec.indices[name]) for name in callspec.params
                 if name in fixtures and fixtures[name][-1].scope in ('module', 'package', 'session'))


@pytest.fixture(autouse=True, scope='module')
def nothing_left_behind():
    """No module hands on to those that happen to run after it what it changed in the process."""
    before = leftovers.noted()
    with leftovers.all_put_back():
        yield
    left = leftovers.left_behind(before)
    assert not left, f'the tests of this module leave behind: {left}'


@pytest.fixture(autouse=True)
def put_back():
    with leftovers.all_put_back():
        yield


@pytest.fixture(autouse=True)
def no_outage():
    yield
    outages.forget()
    repeats.forget()
