"""Runs tests of templates against a service and a simulated cloud, both over HTTP."""

from __future__ import annotations

import fnmatch
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict

import requests

from heatlite.authoring.reading import FAILURES, FileReader
from heatlite.authoring.suites import Case, Suite, SuiteStep
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from requests._types import JsonType

PAUSE: Final = 0.05                     # seconds between two looks at a stack
ANSWER: Final = 60.0                    # seconds for one request
STACK: Final = 'template-test'
MATCHES: Final = 'matches'              # {matches: REGEX} as an expected output


@dataclass(frozen=True)
class FailedExpectation:
    """`place`: FILE:LINE:COLUMN of what was expected."""

    place: str
    text: str

    def __str__(self) -> str:
        return f'{self.place}: {self.text}'


@dataclass(frozen=True)
class SuiteResult:
    suite: Suite
    case: Case
    failures: tuple[FailedExpectation, ...]
    seconds: float

Expected = Literal['plan', 'outputs', 'resources', 'calls']


class Output(TypedDict):
    """An output of a stack as the service shows it."""

    output_key: str
    output_value: NotRequired[object]


class ShownStack(TypedDict):
    """A stack as the service shows it, as far as it is read here."""

    stack_status: str
    stack_status_reason: str
    outputs: NotRequired[list[Output] | None]



class RequestRefused(Exception):
    """The service answered 400 or above."""


@dataclass
class SuiteRunner:
    """`url`: of the project in the API; `cloud_url`: of the simulated cloud; `timeout`: seconds for one action."""

    url: str
    cloud_url: str
    timeout: float = 60.0

    def run(self, suite: Suite, case: Case) -> SuiteResult:
        """Run one test up to its first failed step, and delete its stack."""
        begun = time.monotonic()
        failures: tuple[FailedExpectation, ...] = ()
        for step in case.steps:
            self.cloud('DELETE', 'faults')
            try:
                failures = tuple(self._step(suite, step))
            except (RequestRefused, TimeoutError, OSError, *FAILURES) as error:
                failures = (FailedExpectation(suite.place(step.path), str(error)),)
            if failures:
                break
        self.cloud('DELETE', 'faults')
        self._clean()
        return SuiteResult(suite, case, failures, time.monotonic() - begun)

    def _step(self, suite: Suite, step: SuiteStep) -> Iterator[FailedExpectation]:
        body = _request(suite, step) if step.action in ('create', 'update') else {}
        if 'plan' in step.body:
            yield from self._differences(suite, step, 'plan', self._planned(step, body))
        for fault in step.body.get('faults') or ():
            self.cloud('POST', 'faults', fault)
        before = self.cloud('GET', 'requests')['total']
        try:
            self._act(step.action, body)
        except RequestRefused as refused:
            text = step.body.get('refused')
            if text is None or text not in str(refused):
                yield FailedExpectation(suite.place((*step.path, 'refused' if text else 'action')), _(
                    'refused: %(found)s') % {'found': refused} + (_('; expected: %s') % text if text else ''))
            return
        if 'refused' in step.body:
            yield FailedExpectation(suite.place((*step.path, 'refused')),
                                    _('expected a refusal, but the service accepted it'))
            return
        stack = self._finished()
        if stack['stack_status'] != step.expected_status:
            yield FailedExpectation(suite.place((*step.path, 'status' if 'status' in step.body else 'action')), _(
                'status: expected %(wanted)s, found %(found)s: %(reason)s') % {
                    'wanted': step.expected_status, 'found': stack['stack_status'],
                    'reason': stack['stack_status_reason']})
        reason = step.body.get('reason')
        if reason is not None and reason not in stack['stack_status_reason']:
            yield FailedExpectation(suite.place((*step.path, 'reason')),
                                    _('reason: expected "%(wanted)s" in "%(found)s"') % {
                'wanted': reason, 'found': stack['stack_status_reason']})
        outputs = {each['output_key']: each.get('output_value') for each in stack.get('outputs') or ()}
        yield from self._differences(suite, step, 'outputs', outputs)
        if 'resources' in step.body:
            yield from self._differences(suite, step, 'resources', self._resources())
        if 'calls' in step.body:
            yield from self._differences(suite, step, 'calls', self._calls(before, step.body['calls']))
        yield from self._unhit(suite, step)

    def _unhit(self, suite: Suite, step: SuiteStep) -> Iterator[FailedExpectation]:
        """Find faults that met no call: such a fault would make a test pass that shows nothing."""
        for number, fault in enumerate(self.cloud('GET', 'faults').get('faults', ())):
            if not fault['hits']:
                yield FailedExpectation(suite.place((*step.path, 'faults', number)), _('the fault met no call'))

    @staticmethod
    def _differences(suite: Suite, step: SuiteStep, what: Expected,
                     found: Mapping[str, object]) -> Iterator[FailedExpectation]:
        """Compare expected values. A plan must have nothing else; of other things only the named ones count."""
        wanted = step.body.get(what) or {}
        for name, value in wanted.items():
            if not _fits(value, found.get(name)):
                yield FailedExpectation(suite.place((*step.path, what, name)), _(
                    '%(what)s: %(name)s: expected %(wanted)s, found %(found)s') % {
                        'what': what, 'name': name, 'wanted': json.dumps(value),
                        'found': json.dumps(found.get(name)) if name in found else _('nothing')})
        for name in sorted(set(found) - set(wanted)) if what == 'plan' else ():
            yield FailedExpectation(suite.place((*step.path, what)),
                                    _('plan: %(name)s: expected nothing, found "%(found)s"') % {
                'name': name, 'found': found[name]})

    # --- the service ------------------------------------------------------------------------------------------

    def _act(self, action: str, body: Mapping[str, object]) -> None:
        if action == 'create':
            self._ask('POST', '/stacks', {'stack_name': STACK, **body})
            return
        stack = self._stack()
        if action == 'update':
            self._ask('PUT', stack, body)
        elif action == 'delete':
            self._ask('DELETE', stack)
        else:
            self._ask('POST', f'{stack}/actions', {action: None})

    def _planned(self, step: SuiteStep, body: Mapping[str, object]) -> dict[str, str]:
        """Return action by path of all resources that a plan changes."""
        if step.action == 'create':
            made = self._ask('POST', '/plans', {'stack_name': STACK, **body})
        else:
            made = self._ask('POST', f'{self._stack()}/plans',
                             {'action': 'delete'} if step.action == 'delete' else dict(body))
        plan = made['plan']
        self._ask('DELETE', f'/plans/{plan["id"]}')
        return {'/'.join(change['path']): change['action'] for change in plan['changes'] if change['action'] != 'none'}

    def _stack(self) -> str:
        """Return the path of the stack. Raises RequestRefused."""
        return f'/stacks/{STACK}/{self._ask("GET", f"/stacks/{STACK}")["stack"]["id"]}'

    def _resources(self) -> dict[str, str]:
        try:
            found = self._ask('GET', f'{self._stack()}/resources?nested_depth=5')['resources']
        except RequestRefused:                                 # the stack was deleted
            return {}
        return {each['resource_name']: each['resource_status'] for each in found}

    def _finished(self) -> ShownStack:
        """Return the stack, once nothing is in progress; a deleted one has the status DELETE_COMPLETE. Raises
        TimeoutError."""
        deadline = time.monotonic() + self.timeout
        while True:
            stack = self._shown()
            if not stack['stack_status'].endswith('IN_PROGRESS'):
                return stack
            if time.monotonic() > deadline:
                raise TimeoutError(_('the stack is still %(status)s after %(seconds)d seconds') % {
                    'status': stack['stack_status'], 'seconds': self.timeout})
            time.sleep(PAUSE)

    def _shown(self) -> ShownStack:
        """Return the stack as it is now; a deleted one has the status DELETE_COMPLETE."""
        try:
            stack: ShownStack = self._ask('GET', f'/stacks/{STACK}')['stack']
        except RequestRefused:
            return {'stack_status': 'DELETE_COMPLETE', 'stack_status_reason': ''}
        return stack

    def _clean(self) -> None:
        """Delete the stack of a test. Raises TimeoutError if it cannot be deleted."""
        try:
            self._act('delete', {})
        except RequestRefused:
            return
        self._finished()

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """One request; follows the redirect from a name to the id. Raises RequestRefused with the service's text."""
        answer = requests.request(method, self.url + path, json=body, timeout=ANSWER)
        if answer.status_code >= 400:
            try:
                text = answer.json()['error']['message']
            except (ValueError, KeyError):
                text = answer.text
            raise RequestRefused(text)
        return dict(answer.json()) if answer.content and 'json' in answer.headers.get('Content-Type', '') else {}

    # --- the cloud --------------------------------------------------------------------------------------------

    def cloud(self, method: str, path: str, body: JsonType = None) -> dict[str, Any]:
        answer = requests.request(method, f'{self.cloud_url}/_sim/{path}', json=body, timeout=ANSWER)
        if answer.status_code >= 400:
            raise RequestRefused(_('the simulated cloud: %s') % answer.text)
        found = answer.json() if answer.content else {}
        return found if isinstance(found, dict) else {}

    def _calls(self, before: int, wanted: Mapping[str, object]) -> dict[str, int]:
        """How often each wanted call (`SERVICE METHOD PATH`, a shell pattern) was made since."""
        journal = self.cloud('GET', 'requests')
        count = journal['total'] - before
        made = [' '.join(map(str, call[:3])) for call in journal['last'][-count:]] if count else []
        return {pattern: sum(fnmatch.fnmatchcase(call, pattern) for call in made) for pattern in wanted}


def _request(suite: Suite, step: SuiteStep) -> dict[str, object]:
    """Return the body of a create or an update. Raises what `FileReader` raises."""
    folder = Path(suite.file).parent
    name = str(folder / step.body['template']) if 'template' in step.body else suite.template
    reading = FileReader()
    template = reading.template(Path(name).absolute().as_uri(), name)
    environments = [*suite.environments, *(str(folder / each) for each in step.body.get('environments') or ())]
    parameters = {**suite.parameters, **(step.body.get('parameters') or {})}
    sections = reading.environment(environments, template, parameters)
    if reading.problems:
        raise OSError(f'{reading.problems[0].place}: {reading.problems[0].message}')
    return {'template': template.document, 'files': reading.files,
            'environment': {key: value for key, value in sections.items() if value}}


def _fits(wanted: object, found: object) -> bool:
    if isinstance(wanted, Mapping) and set(wanted) == {MATCHES}:
        return isinstance(found, str) and re.search(str(wanted[MATCHES]), found) is not None
    return bool(wanted == found)
