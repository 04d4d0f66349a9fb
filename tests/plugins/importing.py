"""The life of an imported object, for each of our own types: made by one stack, released by it, imported into another,
updated and deleted there.

`python -m tests.plugins.importing [NAME ...]` prints what differs from what `not_imported.yaml` says; with `--page` it
writes docs/users/import-types.rst from that file instead.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from heatlite.common import exception
from heatlite.db import plans, resources
from heatlite.engine.resource import Resource
from heatlite.rpc import messages
from heatlite.testing.examples import Example
from heatlite.testing.scenario import IT, VERSION, ResourceScenario
from tests.plugins import checking
from tests.plugins.own_types import HERE

NOT_IMPORTED = HERE / 'not_imported.yaml'
DATA = HERE / 'imported_data.yaml'
PAGE = HERE.parents[1] / 'docs' / 'users' / 'import-types.rst'
WIDTH = 100                         # characters of a line of the page
OTHER = 'other'                     # the name of the stack that imports
Change = Callable[[Resource], object]


@dataclass
class Imported:
    """What the life of one type has shown. `refused`: why the import was refused; `wrong`: what was wrong."""

    refused: str = ''
    wrong: list[str] = field(default_factory=list)
    updated: int = 0


def not_imported() -> Mapping[str, str]:
    """Type -> why its objects cannot be imported."""
    found: Mapping[str, str] = yaml.safe_load(NOT_IMPORTED.read_text()) or {}
    return found


def imported_data() -> dict[str, Any]:
    """stored: module -> key -> what an import does about it; lost: what that means, by types."""
    found: dict[str, Any] = yaml.safe_load(DATA.read_text())
    return found


def of(found: Any, cloud_of: Any, name: str) -> Imported | None:
    """Tries one type; None without an example."""
    known = found.example(name)
    if known is None:
        return None
    cloud = cloud_of(name)
    cloud.reset()
    with ResourceScenario(name, known[1], cloud, found.register) as scenario:
        return _Life(scenario).lived()


def of_example(found: Any, cloud: Any, name: str, example: Example, before_release: Change | None = None) -> Imported:
    """Tries one type with another example than its usual one. `before_release`: what somebody else does to the object.
    """
    cloud.reset()
    with ResourceScenario(name, example, cloud, found.register) as scenario:
        return _Life(scenario, before_release).lived()


class _Life:
    def __init__(self, scenario: ResourceScenario, before_release: Change | None = None) -> None:
        self.scenario, self.cluster, self.found = scenario, scenario.cluster, Imported()
        self.before_release = before_release
        self.environment = dict(scenario.example.environment)
        self.stack_id = ''

    def lived(self) -> Imported:
        scenario = self.scenario
        failure = scenario.prepare() or scenario.put(scenario.example.properties)
        assert failure is None, failure
        physical_id, given = scenario.rows()[0][2], self._resolved()
        made = scenario.new_things()
        if self.before_release is not None:
            assert scenario.before is not None and made is not None
            scenario.asked(self.before_release)
            scenario.before += [thing for thing in scenario.new_things() or () if thing not in made]
        if physical_id is None:
            self.found.refused = 'it has no object'
            return self.found
        self._release()
        try:
            self._import(physical_id, given)
            if not self.found.refused:
                self._live(physical_id, given, made)
        finally:
            self._delete()
        return self.found

    # --- steps --------------------------------------------------------------------------------------------

    def _resolved(self) -> Mapping[str, Any]:
        """The properties with the values that references had."""
        with self.cluster.database.reader() as tx:
            columns = resources.columns(tx, self.scenario.stack_id, self.scenario.row_ids(), ('properties',))
        found: Mapping[str, Any] = next(iter(columns.values()))['properties']
        return found

    def _release(self) -> None:
        kept = self.scenario.template(self.scenario.example.properties)
        kept['resources'][IT]['deletion_policy'] = 'Retain'
        for template in (kept, self.scenario.template(None)):
            self.cluster.update(self.scenario.stack_id, template, self.environment)
            row = self.cluster.settle(self.scenario.stack_id)
            assert row.status == 'COMPLETE', row.reason

    def _import(self, physical_id: str, given: Mapping[str, Any]) -> None:
        environment = {**self.environment, 'resource_registry': {
            **self.environment.get('resource_registry', {}), 'resources': {IT: {'import': {'id': physical_id}}}}}
        writes = self.scenario.writes()
        source = {'template': self._template(given), 'stack_name': OTHER, 'environment': environment}
        try:
            plan = self.cluster.ask(messages.CreatePlan(action=messages.CREATE, **source))
        except exception.StackValidationFailed as error:
            self.found.refused = str(error)
            return
        with self.cluster.database.reader() as tx:
            stored = plans.show(tx, plan['id'], str(self.cluster.context.project_id))
        assert stored is not None
        change, = stored.document['changes']
        if (change['action'], change['physical_resource_id']) != ('import', physical_id):
            self.found.wrong.append(f"planned: {change['action']} of {change['physical_resource_id']}")
        self.found.wrong += [f"planned, {'.'.join(map(str, value['path']))}: {value['after']!r}, and the cloud has "
                             f"{value['live']!r}" for value in change['values']]
        self.stack_id = self.cluster.ask(messages.ApplyPlan(plan['id']))['stack_id']
        self._settle('import')
        written = self.scenario.writes() - writes
        if written:
            self.found.wrong.append(f'the import wrote {written} times')
        if self.cluster.states(self.stack_id)[IT] != [('ADOPT', 'COMPLETE', physical_id)]:
            self.found.wrong.append(f'imported: {self.cluster.states(self.stack_id)}')

    def _live(self, physical_id: str, given: Mapping[str, Any], made: Any) -> None:
        if self.scenario.new_things() != made:
            self.found.wrong.append('the import changed what is in the cloud')
        report = self.cluster.ask(messages.LookForDrift(self.stack_id))
        self.found.wrong += [f'drift: {each}' for each in report['resources']]
        wanted = dict(given)
        for change in self.scenario.example.update:
            if _has_functions(change):
                continue
            wanted = {name: value for name, value in {**wanted, **change}.items() if value is not None}
            self.cluster.update(self.stack_id, self._template(wanted), self.environment)
            self._settle(f"update of {', '.join(change)}")
            if self.cluster.states(self.stack_id).get(IT) != [('UPDATE', 'COMPLETE', physical_id)]:
                self.found.wrong.append(f"updated {', '.join(change)}: {self.cluster.states(self.stack_id)}")
            self.found.updated += 1

    def _delete(self) -> None:
        if self.stack_id:
            self.cluster.delete(self.stack_id)
            self._settle('delete')
            left = self.scenario.new_things()
            if left:
                self.found.wrong.append(f'left behind: {left[:3]}')
            now = self.scenario.things() or ()
            lost = [thing for thing in self.scenario.before or () if thing not in now]
            if lost:
                self.found.wrong.append(f'deleted what is not its own: {lost[:3]}')
        self.scenario.clear()

    def _settle(self, what: str) -> None:
        row = self.cluster.settle(self.stack_id)
        if row.status != 'COMPLETE':
            self.found.wrong.append(f'{what}: {row.reason}')

    def _template(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {'heat_template_version': VERSION, 'resources': {
            IT: {'type': self.scenario.type_name, 'properties': dict(given)}}}


def _has_functions(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(key in ('get_resource', 'get_attr', 'get_param') or _has_functions(each)
                   for key, each in value.items())
    return isinstance(value, list) and any(map(_has_functions, value))


def differences(name: str, found: Imported) -> Iterator[str]:
    """What was found and is not as `not_imported.yaml` says."""
    yield from (f'{name}: {each}' for each in found.wrong)
    is_listed = name in not_imported()
    if found.refused and not is_listed:
        yield f'{name}: refused: {found.refused}'
    if not found.refused and is_listed:
        yield f'{name}: imported, and listed as not'


def page() -> Iterator[str]:
    """The lines of the page."""
    yield from (
        'Types that cannot be imported', '=============================', '',
        'Written by ``python -m tests.plugins.importing --page`` and checked by ``tests/plugins/test_importing.py``,',
        'which takes an object of each type through its life in the simulated cloud: made by one stack, released,',
        'imported into another without a write, updated, deleted. All other types can be `imported <import.rst>`_.',
        '',
        '.. list-table::', '   :header-rows: 1', '   :widths: 60 40', '', '   * - Types', '     - Reason')
    reasons: dict[str, list[str]] = {}
    for name, reason in not_imported().items():
        reasons.setdefault(reason, []).append(f'``{name}``')
    for reason, names in reasons.items():
        yield from _cell(', '.join(names), '   * - ')
        yield f'     - {reason}'
    yield from (
        '', 'What an import does not know', '----------------------------',
        'Some types make other objects with theirs, or store what a service says only once. An import finds the',
        'ports that were made with a server, by their names; they are updated and deleted with it, also if another',
        'stack made it. Ports that the template names, and ports that somebody else plugged in, are kept. The',
        'following is not found.',
        '',
        '.. list-table::', '   :header-rows: 1', '   :widths: 25 35 40', '',
        '   * - Types', '     - Not known', '     - Consequence')
    for entry in imported_data()['lost']:
        yield from _cell(', '.join(f'``{name}``' for name in entry['types']), '   * - ')
        yield from _cell(entry['what'], '     - ')
        yield from _cell(entry['effect'], '     - ')
    yield ''


def _cell(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent='       ', break_long_words=False,
                         break_on_hyphens=False)


def shown(result: Imported) -> str:
    return f'refused {result.refused!r}, updates {result.updated}'


if __name__ == '__main__':
    sys.exit(checking.main(sys.argv[1:], PAGE, page, of, differences, shown))
