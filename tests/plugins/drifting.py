"""Every property of our own types that an update can change, changed behind the engine's back: is it found, and does an
update with `--converge` put it right?

`python -m tests.plugins.drifting [NAME ...]` prints what differs from what `unseen_drift.yaml` says; with `--page` it
writes docs/users/drift-types.rst from that file instead.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
import yaml

from heatlite.common import exception
from heatlite.db.tables import resource, resource_data
from heatlite.rpc import messages
from heatlite.testing import another, changes
from heatlite.testing.changes import ChangedProperty
from heatlite.testing.scenario import IT, ResourceScenario
from tests.cloud.table import lives
from tests.plugins import checking
from tests.plugins.importing import not_imported
from tests.plugins.own_types import HERE

UNSEEN = HERE / 'unseen_drift.yaml'
IN_A_CLOUD = HERE.parent / 'cloud' / 'drifted.yaml'     # written by tests.cloud.drifted
NOT_IN_A_CLOUD = HERE.parent / 'cloud' / 'not_drifted.yaml'
PAGE = HERE.parents[1] / 'docs' / 'users' / 'drift-types.rst'
WIDTH = 100                         # characters of a line of the page
# They change ports, which the engine cannot delete if it does not know of them; the type reads nothing back.
UNTRIED = frozenset({('AWS::EC2::Instance', 'NetworkInterfaces'), ('AWS::EC2::Instance', 'SubnetId')})
ALSO = {                            # what else a change of a property changes in the cloud
    ('OS::Nova::HostAggregate', 'availability_zone'): frozenset({'metadata'}),
    ('OS::Neutron::FloatingIPAssociation', 'floatingip_id'): frozenset({'port_id'}),
    ('OS::Designate::Zone', 'primaries'): frozenset({'masters'}),
    ('OS::Octavia::L7Rule', 'type'): frozenset({'key'})}
# Volumes and pools never shrink; the other address keeps the port; a protected image could not be deleted afterwards.
NOT_MENDED = frozenset({('OS::Cinder::Volume', 'size'), ('OS::Trove::Instance', 'size'),
                        ('OS::Neutron::SubnetPool', 'prefixes'), ('OS::Glance::WebImage', 'protected'),
                        ('OS::Neutron::FloatingIPAssociation', 'floatingip_id')})
KEPT = ('properties', 'definition', 'fingerprint', 'metadata')      # columns of the row as before the change


@dataclass
class Drifted:
    """What looks at one type have found. `seen`: properties whose change was found, and nothing else;
    `wrong`: property -> what was wrong; `fresh`: what was found of a resource that was not changed."""

    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    fresh: list[Any] = field(default_factory=list)
    is_read: bool = True


def unseen() -> Mapping[str, Mapping[str, str]]:
    """Type -> property -> why its change cannot be seen; '*' stands for all."""
    found: Mapping[str, Mapping[str, str]] = yaml.safe_load(UNSEEN.read_text()) or {}
    return found


def look(scenario: ResourceScenario) -> dict[str, Any]:
    report: dict[str, Any] = scenario.cluster.ask(messages.LookForDrift(scenario.stack_id))
    return report


def of(found: Any, cloud_of: Any, name: str) -> Drifted | None:
    """Tries one type; None without an example."""
    known = found.example(name)
    if known is None:
        return None
    group, example = known
    kind, result = found.types[name], Drifted()
    trial = changes.Trial(name, kind, example, cloud_of(name), found.register, 0, group.named)
    try:
        scenario = trial._made(example.properties, {})
        report = look(scenario)
        result.fresh = report['resources']
        result.is_read = result.is_read and not _is_uncompared(report, scenario)
        for change in changes.of(kind, example, group.named):
            if not isinstance(change, ChangedProperty) or change.replaces:
                continue
            if (name, change.name) in UNTRIED:
                result.unseen.append(change.name)
            else:
                _try(trial, change, result)
    finally:
        trial.finish()
    return result


def _is_uncompared(report: Mapping[str, Any], scenario: ResourceScenario) -> bool:
    return report['summary']['same'] == 0 and not report['resources']


def _try(trial: changes.Trial, change: ChangedProperty, result: Drifted) -> None:
    try:
        scenario, before = _spoiled(trial, change)
        report = look(scenario)
        noticed = {each['path'][0] for found in report['resources'] if found['path'] == [IT]
                for each in found['properties']}
        others = [found for found in report['resources'] if found['path'] != [IT]]
        more = noticed - {change.name} - ALSO.get((trial.type_name, change.name), frozenset())
        if others or more:
            result.wrong[change.name] = f'also found: {sorted(more)} {others}'
        (result.seen if change.name in noticed else result.unseen).append(change.name)
        if noticed and (trial.type_name, change.name) not in NOT_MENDED:
            _put_right(scenario, change.name, before, result)
    except Exception as error:
        trial.close()
        result.wrong[change.name] = f'{type(error).__name__}: {error}'


def _put_right(scenario: ResourceScenario, name: str, before: Mapping[str, Any], result: Drifted) -> None:
    failure = scenario.put(before, converge=True)
    left = look(scenario)['resources'] if failure is None else failure
    if left:
        result.wrong[name] = f'after an update that converges: {left}'


def _spoiled(trial: changes.Trial, change: ChangedProperty) -> tuple[ResourceScenario, Mapping[str, Any]]:
    """The scenario with a resource of which the engine does not know that it was changed, and its properties as far as
    the engine knows."""
    failure: str | None = ''
    for before, after in _values(trial, change):
        scenario = trial._made(before, change.extra)
        kept = _row(scenario)
        scenario.extra = change.extra
        try:
            failure = scenario.put(after)
        except exception.HeatException as error:        # refused before it began
            failure = str(error)
        if failure is None:
            _restore(scenario, kept)
            return scenario, before
    raise changes.BrokenLife(str(failure))


def _values(trial: changes.Trial, change: ChangedProperty) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The properties that are applied, and those behind the engine's back, to be tried in turn: not every value that a
    schema allows is one for the service. What a definition leaves to the service cannot drift, so the property has a
    value in the first."""
    if change.before.get(change.name) is not None:
        yield change.before, change.after
        return
    given = change.after[change.name]
    with suppress(another.NoValue):
        other = another.value(change.name, trial.kind.properties_schema[change.name], given, trial._named)
        if other != given:
            yield change.after, {**change.after, change.name: other}
    yield change.after, change.before


def _row(scenario: ResourceScenario) -> Any:
    with scenario.cluster.database.reader() as tx:
        row = tx.execute(sa.select(resource).where(resource.c.stack_id == scenario.stack_id,
                                                   resource.c.name == IT)).mappings().one()
        data = tx.execute(sa.select(resource_data).where(resource_data.c.stack_id == scenario.stack_id,
                                                         resource_data.c.resource_id == row['id'])).mappings().all()
    return row, data


def _restore(scenario: ResourceScenario, kept: Any) -> None:
    """Make the engine believe that the resource was never changed."""
    row, data = kept
    with scenario.cluster.database.writer() as tx:
        of_row = (resource.c.stack_id == scenario.stack_id, resource.c.id == row['id'])
        done = tx.execute(resource.update().where(*of_row).values(**{name: row[name] for name in KEPT}))
        assert done.rowcount == 1, 'it was replaced'
        tx.execute(resource_data.delete().where(resource_data.c.stack_id == scenario.stack_id,
                                                resource_data.c.resource_id == row['id']))
        for each in data:
            tx.execute(resource_data.insert().values(**each))


def differences(name: str, found: Drifted) -> Iterator[str]:
    """What was found and is not as `unseen_drift.yaml` says."""
    listed = unseen().get(name, {})
    if found.fresh:
        yield f'{name}: a resource just created: {found.fresh}'
    for each, why in found.wrong.items():
        yield f'{name}.{each}: {why}'
    if '*' in listed:
        yield from (f'{name}.{each}: found, and listed as unseen' for each in found.seen)
        return
    yield from (f'{name}.{each}: not found' for each in found.unseen if each not in listed)
    yield from (f'{name}.{each}: found, and listed as unseen' for each in found.seen if each in listed)


def page() -> Iterator[str]:
    """The lines of the page."""
    yield from (
        'Drift of each type', '==================', '',
        'Written by ``python -m tests.plugins.drifting --page`` and checked by ``tests/plugins/test_drift.py``, which',
        'changes each property that an update can change behind the engine in the simulated cloud. All are found, but',
        'for those of the properties below. That an object is gone is found for every type that has one and can be',
        'read. An update with ``--converge`` puts each change right; but volumes and pools of subnets do not shrink,',
        'and a floating address does not take a port from another one.',
        '`drift.rst <drift.rst>`_ says how values are compared.', '',
        '.. list-table::', '   :header-rows: 1', '   :widths: 30 30 40', '', '   * - Type', '     - Property',
        '     - Why its change is not found')
    for name, entries in unseen().items():
        reasons: dict[str, list[str]] = {}
        for each, reason in entries.items():
            reasons.setdefault(reason, []).append('all' if each == '*' else f'``{each}``')
        for reason, properties in reasons.items():
            yield f'   * - ``{name}``'
            yield from textwrap.wrap(', '.join(properties), WIDTH, initial_indent='     - ',
                                     subsequent_indent='       ', break_long_words=False)
            yield f'     - {reason}'
    yield ''
    yield from _in_a_cloud()


def in_a_cloud() -> Mapping[str, Mapping[str, Any]]:
    """Type -> {properties, gone}, as `tests.cloud.drifted` writes it."""
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(IN_A_CLOUD.read_text())
    return found


def not_in_a_cloud() -> dict[str, str]:
    """Types of lives that are not in `in_a_cloud` -> why."""
    listed: Mapping[str, str] = yaml.safe_load(NOT_IN_A_CLOUD.read_text())
    reasons = {**{name: f'{why[0].lower()}{why[1:]}' for name, why in not_imported().items()},
               **{name: entries['*'] for name, entries in unseen().items() if '*' in entries}, **listed}
    types = {life.type for life in lives().values()} - set(in_a_cloud())
    return {name: reasons[name].rstrip('.') for name in sorted(types)}


def _in_a_cloud() -> Iterator[str]:
    found = in_a_cloud()
    yield from (
        'In a real cloud', '---------------',
        f'``python -m tests.cloud.drifted CLOUD`` makes an object of each of {len(found)} types in a cloud of real',
        "services, changes it by the service's API, imports it with a definition that differs, and deletes it. Each",
        'difference was found and nothing else was; an update with ``--converge`` put it right.', '',
        '.. list-table::', '   :header-rows: 1', '   :widths: 40 45 15', '',
        '   * - Type', '     - Properties whose difference was found', '     - Loss found')
    for name, entry in found.items():
        yield f'   * - ``{name}``'
        yield from textwrap.wrap(', '.join(f'``{each}``' for each in entry['properties']) or '-', WIDTH,
                                 initial_indent='     - ', subsequent_indent='       ', break_long_words=False)
        yield f"     - {'yes' if entry['gone'] else '-'}"
    yield from ('', 'Types that were not tried there:', '', '.. list-table::', '   :header-rows: 1',
                '   :widths: 60 40', '', '   * - Types', '     - Reason')
    grouped: dict[str, list[str]] = {}
    for name, why in not_in_a_cloud().items():
        grouped.setdefault(why, []).append(f'``{name}``')
    for why, names in grouped.items():
        yield from textwrap.wrap(', '.join(names), WIDTH, initial_indent='   * - ', subsequent_indent='       ',
                                 break_long_words=False, break_on_hyphens=False)
        yield f'     - {why}'
    yield ''


def shown(result: Drifted) -> str:
    return f'read {result.is_read}, seen {result.seen}, unseen {result.unseen}'


if __name__ == '__main__':
    sys.exit(checking.main(sys.argv[1:], PAGE, page, of, differences, shown))
