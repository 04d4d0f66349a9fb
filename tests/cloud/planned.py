"""Each property of one type changed by a plan, and what the plan said held beside what was done in the cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heatlite.testing.changes import ChangedProperty, Untried
from tests.cloud.calls import Calls
from tests.cloud.changes import Subject
from tests.cloud.clouds import Cloud, own_names
from tests.cloud.deployment import GONE, Deployment, eventually
from tests.cloud.table import IT, filled

AGREED, REFUSED, DIFFERS, UNTRIED = 'agreed', 'refused', 'differs', 'not tried'
NONE, UPDATE, REPLACE = 'none', 'update', 'replace'


@dataclass(frozen=True)
class Outcome:
    """Of one property. `said`: the action of the plan; `text`: what differs, what the service said, or why it was not
    tried."""

    name: str
    verdict: str
    said: str = ''
    text: str = ''


class Differs(Exception):
    """What was done is not what was planned; the text says how."""


class Refused(Exception):
    """The service does not do what the plan asks of it; the text is its sentence."""


class Unusable(Exception):
    """There is no stack to change; the text says why."""


class Trial:
    """All changes of one type, in one stack, which is made anew when an update of it fails."""

    def __init__(self, cloud: Cloud, deployment: Deployment, subject: Subject, names: Mapping[str, Any]) -> None:
        self._cloud, self._deployment, self._subject = cloud, deployment, subject
        self._names = own_names(dict(names))
        self._calls = Calls.of(cloud)
        self._stack = ''
        self._undeletable: list[str] = []

    def run(self) -> Iterator[Outcome]:
        """One for each property, and one for each stack that cannot be deleted, which stays."""
        for number, change in enumerate(self._subject.changes):
            if isinstance(change, Untried):
                yield Outcome(change.name, UNTRIED, text=change.reason)
                continue
            yield self._tried(change, refreshed=number % 2 == 1)
        self._clear()
        yield from (Outcome('*', DIFFERS, text=f'the stack cannot be deleted: {why}') for why in self._undeletable)

    def _tried(self, change: ChangedProperty, refreshed: bool) -> Outcome:
        said = ''
        try:
            self._prepare(change)
            said, plan = self._planned(change, refreshed)
            self._apply(change, said, plan)
        except (Differs, AssertionError) as error:      # the second: an action that does not end
            self._clear()
            return Outcome(change.name, DIFFERS, said, str(error))
        except Refused as error:
            self._clear()
            return Outcome(change.name, REFUSED, said, str(error))
        except Unusable as error:
            self._clear()
            return Outcome(change.name, UNTRIED, said, str(error))
        return Outcome(change.name, AGREED, said)

    # --- before ---------------------------------------------------------------------------------------------

    def _template(self, properties: Mapping[str, Any], change: ChangedProperty) -> dict[str, Any]:
        found: dict[str, Any] = filled(self._subject.template(properties, change.extra), self._names)
        return found

    def _prepare(self, change: ChangedProperty) -> None:
        """The stack with the properties before the change; made anew if its update fails."""
        template = self._template(change.before, change)
        if self._stack:
            answer = self._deployment._request('PUT', self._stack, {'template': template})
            if answer.status_code == 202 and self._deployment.settled(self._stack) == 'UPDATE_COMPLETE':
                return
            self._clear()
        answer = self._deployment._request('POST', '/stacks', {
            'stack_name': self._names['unique'], 'template': template, 'disable_rollback': True})
        if answer.status_code != 201:
            raise Unusable(f'it cannot be made: {message(answer)}')
        self._stack = f'/stacks/{self._names["unique"]}/{answer.json()["stack"]["id"]}'
        if self._deployment.settled(self._stack) != 'CREATE_COMPLETE':
            raise Unusable(f'it cannot be made: {self._deployment.why(self._stack)}')

    def _clear(self) -> None:
        stack, self._stack = self._stack, ''
        try:
            if stack and self._deployment.delete(stack) != GONE and self._deployment.delete(stack) != GONE:
                self._undeletable.append(self._deployment.why(stack))
        except AssertionError as error:
            self._undeletable.append(str(error))
        self._names |= {'unique': own_names({})['unique']}

    # --- the plans ------------------------------------------------------------------------------------------

    def _plan(self, template: dict[str, Any], refresh: bool) -> dict[str, Any]:
        answer = self._deployment._request('POST', f'{self._stack}/plans', {'template': template, 'refresh': refresh})
        if answer.status_code != 201:
            raise Unusable(f'no plan: {answer.status_code} {message(answer)}')
        found: dict[str, Any] = answer.json()['plan']
        return found

    def _forget(self, plan: Mapping[str, Any]) -> None:
        self._deployment.ask('DELETE', f'/plans/{plan["id"]}', 204)

    def _planned(self, change: ChangedProperty, refreshed: bool) -> tuple[str, dict[str, Any]]:
        """What becomes of the resource, as the plan without a look at the cloud and the one with it say; one of them,
        to be applied."""
        template = self._template(change.after, change)
        plain, looked = self._plan(template, False), self._plan(template, True)
        self._forget(plain if refreshed else looked)
        said = action(plain)
        if action(looked) != said:
            raise Differs(f'the plan says {said}, with a look at the cloud {action(looked)}: {its(looked)["values"]}')
        forced = [value for value in its(plain)['values'] if value['path'][0] == change.name
                  and value['forces_replacement']]
        if bool(forced or its(plain)['cause']) != (said == REPLACE):
            raise Differs(f'the plan says {said}, of the value {"" if forced else "not "}that it forces a replacement')
        for plan in (plain, looked):
            others = [each for each in plan['changes'] if each['path'][0] != IT and each['action'] != NONE]
            if others:
                raise Differs(f'the plan changes more than the resource: {others}')
        return said, looked if refreshed else plain

    # --- what is done ---------------------------------------------------------------------------------------

    def _apply(self, change: ChangedProperty, said: str, plan: Mapping[str, Any]) -> None:
        was, events, place = self._it(), self._events(), self._place()
        shown = self._shown(place)
        self._calls.begin()
        self._deployment.ask('POST', f'/plans/{plan["id"]}/apply', 202, {'digest': plan['digest']})
        status = self._deployment.settled(self._stack)
        if status != 'UPDATE_COMPLETE':
            self._check_refusal(status)
        now, new = self._it(), {status for number, status in self._events().items() if number not in events}
        done = (REPLACE if 'CREATE_COMPLETE' in new else UPDATE if 'UPDATE_COMPLETE' in new else NONE)
        if done != said:
            raise Differs(f'the plan says {said}, and what was done is {done}')
        self._check_object(change, said, place, shown)
        kept = now['physical_resource_id'] == was['physical_resource_id']
        if said != REPLACE and not kept and change.name not in self._subject.said.moves:
            raise Differs(f'the plan says {said}, and the resource has another physical id')
        self._check_nothing_is_left(change)

    def _check_refusal(self, status: str) -> None:
        why = self._deployment.why(self._stack)
        if status != 'UPDATE_FAILED' or 'NotPlanned' in why:
            raise Differs(f'{status}: {why}')
        raise Refused(str(self._deployment.stack(self._stack)['stack_status_reason']))

    def _it(self) -> dict[str, Any]:
        return self._deployment.resource(self._stack, IT)

    def _events(self) -> dict[str, str]:
        """The state that each event tells, by its id."""
        found = self._deployment.ask('GET', f'{self._stack}/resources/{IT}/events?limit=1000', 200)['events']
        return {each['id']: each['resource_status'] for each in found}

    # --- the object -----------------------------------------------------------------------------------------

    def _has_own_path(self) -> bool:
        """Whether the object is at the physical id."""
        return self._subject.at is not None and self._subject.at.endswith('{id}')

    def _place(self) -> tuple[str, str] | None:
        """Service and path of the object now."""
        if self._subject.at is None:
            return None
        ids = {each['resource_name']: each['physical_resource_id'] for each in self._deployment.resources(self._stack)}
        service, path = self._subject.at.split()
        try:
            return service, path.format(**{**ids, 'id': ids[IT]})
        except KeyError:                            # the path names a neighbour that is called otherwise here
            return None

    def _shown(self, place: tuple[str, str] | None) -> Any:
        """The object as its service shows it; None: it is not there, or shows nothing."""
        if place is None:
            return None
        answer = self._cloud.ask(place[0], 'GET', place[1])
        if answer.status_code == 404 or not answer.content:
            return None
        assert answer.status_code == 200, f'{place}: {answer.status_code} {answer.text}'
        try:
            found = answer.json()
        except ValueError:
            return answer.text
        return next(iter(found.values())) if isinstance(found, dict) and len(found) == 1 else found

    def _check_calls(self, said: str, path: str) -> None:
        """A service notes a call after it has answered it."""
        if said == REPLACE and self._calls:
            eventually('the DELETE of the replaced object', lambda: self._deleted(path))
        if said != REPLACE and self._deleted(path):
            raise Differs(f'the plan says {said}, and the object was deleted: {self._deleted(path)}')
        if said == NONE and self._calls.about(path):
            raise Differs(f'the plan says none, and the service was asked for {self._calls.about(path)}')

    def _deleted(self, path: str) -> list[tuple[str, str]]:
        return [call for call in self._calls.about(path) if call[0] == 'DELETE']

    def _check_object(self, change: ChangedProperty, said: str, place: tuple[str, str] | None, before: Any) -> None:
        if place is None or before is None:
            return
        if self._has_own_path():
            self._check_calls(said, place[1])
        if said == REPLACE:
            if self._place() != place:
                eventually('the end of the replaced object', lambda: self._shown(place) is None)
            return
        after = self._shown(place)
        if after is None:
            raise Differs(f'the plan says {said}, and the object is gone')
        if said == UPDATE and change.name not in self._subject.said.unseen:
            wanted = filled(change.after.get(change.name), self._names)
            is_same = after == before
            is_other = (isinstance(after, dict) and isinstance(wanted, str | int | float | bool)
                        and isinstance(after.get(change.name, {}), str | int | float | bool)
                        and str(after[change.name]).lower() != str(wanted).lower())
            if is_same or is_other:
                raise Differs(f'the plan says update, and {change.name} is not seen in the object: '
                              f'{after.get(change.name) if isinstance(after, dict) else after!r}, wanted {wanted!r}')

    def _check_nothing_is_left(self, change: ChangedProperty) -> None:
        """A plan of the same template is empty, whether it looks at the cloud or not; that of a change which each
        update makes again is not, if it looks at the cloud."""
        template = self._template(change.after, change)
        for refresh in (False, True):
            plan = self._plan(template, refresh)
            self._forget(plan)
            left = [each for each in plan['changes'] if each['action'] != NONE]
            if bool(left) != change.again and (refresh or not change.again):
                raise Differs(f'afterwards a plan{" that looks at the cloud" if refresh else ""} is '
                              f'{[(each["path"], each["action"], each["values"]) for each in left] or "empty"}')


def its(plan: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in plan['changes'] if each['path'] == [IT])
    return found


def action(plan: Mapping[str, Any]) -> str:
    return str(its(plan)['action'])


def message(answer: Any) -> str:
    try:
        return str(answer.json()['error']['message'])
    except (ValueError, KeyError):
        return str(answer.text[:500])
