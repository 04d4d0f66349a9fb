"""Reads files with tests of templates (`*.test.yaml`): what to do with a stack, and what is expected then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from heatlite.authoring.reading import LIMITS
from heatlite.common.i18n import _
from heatlite.common.template_format import simple_parse
from heatlite.common.yaml_reading import DocumentError
from heatlite.language.diagnostics import did_you_mean
from heatlite.language.positions import Positions

if TYPE_CHECKING:
    from requests._types import JsonType

ENDING: Final = '.test.yaml'
ACTIONS: Final = ('create', 'update', 'delete', 'check', 'suspend', 'resume')
OF_FILE: Final[Mapping[str, type]] = {'template': str, 'environments': list, 'parameters': dict, 'tests': list}
OF_TEST: Final[Mapping[str, type]] = {'name': str, 'steps': list}
OF_STEP: Final[Mapping[str, type]] = {
    'template': str, 'environments': list, 'parameters': dict, 'faults': list, 'action': str, 'plan': dict,
    'refused': str, 'status': str, 'reason': str, 'outputs': dict, 'resources': dict, 'calls': dict}
KIND_WORDS: Final[Mapping[type, str]] = {str: 'text', list: 'list', dict: 'map'}


class WrongSuite(Exception):
    """The file is wrong. The text names the file, the line and what was expected."""


class StepBody(TypedDict, total=False):
    """A step as it is written: OF_STEP."""

    template: str
    environments: list[str]
    parameters: dict[str, object]
    faults: list[Mapping[str, JsonType]]
    action: str
    plan: dict[str, object]
    refused: str
    status: str
    reason: str
    outputs: dict[str, object]
    resources: dict[str, object]
    calls: dict[str, object]


class CaseBody(TypedDict):
    """A test as it is written: OF_TEST."""

    name: str
    steps: list[StepBody]


@dataclass(frozen=True)
class SuiteStep:
    """One action on the stack with what is expected. `path`: its place in the file, for failures."""

    action: str
    path: tuple[object, ...]
    body: StepBody

    @property
    def expected_status(self) -> str:
        return str(self.body.get('status', f'{self.action.upper()}_COMPLETE'))


@dataclass(frozen=True)
class Case:
    name: str
    steps: Sequence[SuiteStep]
    path: tuple[object, ...]


@dataclass(frozen=True)
class Suite:
    """The tests of one file. `template` and `environments` are paths."""

    file: str
    template: str
    environments: Sequence[str]
    parameters: Mapping[str, object]
    cases: Sequence[Case]
    positions: Positions = field(repr=False)

    def place(self, path: tuple[object, ...]) -> str:
        """`FILE:LINE:COLUMN` of a part of the file."""
        line, column = self.positions.find(path) or (1, 1)
        return f'{self.file}:{line}:{column}'


def read(file: str) -> Suite:
    """Read a suite. Raises WrongSuite, OSError."""
    text = Path(file).read_text(encoding='utf-8')
    try:
        document = simple_parse(text, file, LIMITS)
    except DocumentError as error:
        raise WrongSuite(f'{file}: {error}') from None
    positions = Positions(text)
    reader = _Reader(file, positions)
    reader.check(document, OF_FILE, (), required=('tests',))
    folder = Path(file).parent
    default = Path(file).name.removesuffix(ENDING) + '.yaml'
    environments, parameters, tests = (document.get(name) for name in ('environments', 'parameters', 'tests'))
    return Suite(file, str(folder / str(document.get('template', default))),
                 [str(folder / name) for name in environments] if isinstance(environments, list) else [],
                 parameters if isinstance(parameters, dict) else {},
                 [reader.case(body, ('tests', number)) for number, body in enumerate(tests)]
                 if isinstance(tests, list) else [], positions)


@dataclass(frozen=True)
class _Reader:
    file: str
    positions: Positions

    def case(self, body: CaseBody, path: tuple[object, ...]) -> Case:
        self.check(body, OF_TEST, path, required=('name', 'steps'))
        return Case(body['name'], [self.step(step, (*path, 'steps', number))
                                   for number, step in enumerate(body['steps'])], path)

    def step(self, body: StepBody, path: tuple[object, ...]) -> SuiteStep:
        self.check(body, OF_STEP, path, required=('action',))
        if body['action'] not in ACTIONS:
            raise self.wrong((*path, 'action'), _('expected one of %s') % ', '.join(ACTIONS), body['action'], ACTIONS)
        for number, fault in enumerate(body.get('faults') or ()):
            if not isinstance(fault, Mapping) or 'kind' not in fault:
                raise self.wrong((*path, 'faults', number), _('expected a map with a kind'))
        return SuiteStep(body['action'], path, body)

    def check(self, body: object, known: Mapping[str, type], path: tuple[object, ...], required: Sequence[str]) -> None:
        if not isinstance(body, Mapping):
            raise self.wrong(path, _('expected a map with %s') % ', '.join(known))
        for key, value in body.items():
            if key not in known:
                raise self.wrong((*path, key), _('unknown key "%s"') % key, key, tuple(known))
            if not isinstance(value, known[key]):
                raise self.wrong((*path, key), _('expected a %(kind)s for "%(key)s"') % {
                    'kind': KIND_WORDS[known[key]], 'key': key})
        for key in required:
            if key not in body:
                raise self.wrong(path, _('"%s" is missing') % key)

    def wrong(self, path: tuple[object, ...], text: str, found: str = '', known: Sequence[str] = ()) -> WrongSuite:
        line, column = self.positions.find(path) or (1, 1)
        hint = did_you_mean(found, known) if known else None
        return WrongSuite(f'{self.file}:{line}:{column}: {text}' + (f' ({hint})' if hint else ''))
