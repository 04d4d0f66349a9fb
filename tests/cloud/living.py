"""The life of one resource type in a cloud, step by step, each step asserted and written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heatlite.engine.resources import packed
from tests.cloud.clouds import Cloud, own_names
from tests.cloud.deployment import GONE, Deployment, eventually
from tests.cloud.table import IT, Life, filled
from tests.cloudsim.compare import shape


@dataclass
class Diary:
    """What happened, without anything that differs from one cloud to the next."""

    steps: dict[str, str] = field(default_factory=dict)         # step -> states it ended in
    attributes: dict[str, str] = field(default_factory=dict)    # path -> kind of value
    objects: dict[str, int] = field(default_factory=dict)       # kind -> how many more after the creation
    failure: str | None = None                                  # the first step that went wrong, and how


class Living:
    """One stack with the resource under test in it. Raises AssertionError that says which step went wrong, and why."""

    def __init__(self, cloud: Cloud, deployment: Deployment, life: Life, names: dict[str, Any], diary: Diary) -> None:
        self._cloud = cloud
        self._deployment = deployment
        self._names = own_names(names)
        self._life = life
        self._diary = diary
        self._changes: tuple[dict[str, Any] | None, ...] = ()
        self._stack = ''

    def _template(self) -> dict[str, Any]:
        found: dict[str, Any] = filled(self._life.template(*self._changes), self._names)
        return found

    def _expect(self, step: str, status: str, wanted: str) -> None:
        its = self._it()['resource_status'] if status != GONE else ''
        self._diary.steps[step] = f'{status} {its}'.strip()
        assert status == wanted, f'{step}: {status}: {self._deployment.why(self._stack)}'

    def _it(self) -> dict[str, Any]:
        return self._deployment.resource(self._stack, IT)

    # --- the object itself ----------------------------------------------------------------------------------

    def _place(self) -> tuple[str, str]:
        """Service and path of the object now."""
        assert self._life.at is not None
        ids = {each['resource_name']: each['physical_resource_id'] for each in self._deployment.resources(self._stack)}
        service, path = self._life.at.split()
        return service, path.format(**{**ids, 'id': ids[IT]})

    def _is_there(self, place: tuple[str, str]) -> bool:
        answer = self._cloud.ask(place[0], 'GET', place[1])
        if answer.status_code == 404:
            return False
        assert answer.status_code in (200, 204), f'{place}: {answer.status_code} {answer.text}'
        return not (place[1].endswith('/encryption') and not answer.json())

    def _is_gone(self, place: tuple[str, str]) -> bool:
        return not self._is_there(place)

    def _take_away(self) -> None:
        """Somebody deletes the object, and what the cloud wants deleted with it."""
        place = self._place()
        answer = self._cloud.ask(place[0], 'DELETE', place[1])
        assert answer.status_code < 300, f'taking away {place}: {answer.status_code} {answer.text}'
        eventually(f'the end of {place}', lambda: self._is_gone(place))

    # --- steps ----------------------------------------------------------------------------------------------

    def create(self) -> None:
        self._stack = self._deployment.create(self._names['unique'], self._template())
        if self._life.signal:
            self._signal(**self._life.signal)
        wanted = 'CREATE_FAILED' if self._life.refused else 'CREATE_COMPLETE'
        self._expect('create', self._deployment.settled(self._stack), wanted)

    def _signal(self, to: str, body: dict[str, Any]) -> None:
        def ready() -> bool:
            found = {each['resource_name']: each['resource_status'] for each in self._deployment.resources(self._stack)}
            failed = [name for name, status in found.items() if status.endswith('FAILED')]
            assert not failed, self._deployment.why(self._stack)
            first = 'CREATE_IN_PROGRESS' if to == IT else 'CREATE_COMPLETE'
            its = self._deployment.resource(self._stack, to)['physical_resource_id']
            # As long as there is nothing, its future name is shown; a signal would find nobody.
            return found.get(to) == first and bool(its) and not its.startswith(self._names['unique'])
        eventually(f'{to} to be signalled', ready)
        self._deployment.ask('POST', f'{self._stack}/resources/{to}/signal', 200, body)

    def read(self) -> None:
        known = packed.facts(self._life.type)['attributes']
        names = (*known, *(each for each in self._life.shows if each not in known))
        found = self._deployment.resource(self._stack, IT, names)['attributes']
        self._diary.attributes = {place: kind for place, kind in shape(found).items() if place}
        for name, value in filled(self._life.shows, self._names).items():
            assert found[name] == value, f'attribute {name} is {found[name]!r}, wanted {value!r}'

    def leave(self) -> None:
        """The same template again: nothing is done."""
        before = self._it()
        self._expect('same', self._deployment.update(self._stack, self._template()), 'UPDATE_COMPLETE')
        after = self._it()
        assert after['physical_resource_id'] == before['physical_resource_id'], 'an equal template replaced it'
        assert self._life.passes_on or after['updated_time'] == before['updated_time'], 'an equal template updated it'

    def observe(self) -> None:
        """A converging update looks at every object of the stack, and finds all as it was made."""
        before = {each['resource_name']: each['updated_time'] for each in self._all()}
        self._expect('observe', self._deployment.update(self._stack, self._template(), converge=True),
                     'UPDATE_COMPLETE')
        drifted = [each['resource_name'] for each in self._all()
                   if before[each['resource_name']] != each['updated_time']
                   and not any(link['rel'] == 'nested' for link in each['links'])]      # they ask what is inside
        assert not drifted, f'taken for drifted: {drifted}'

    def _all(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._deployment.ask('GET', f'{self._stack}/resources', 200)['resources']
        return found

    def update(self) -> None:
        self._changes += (self._life.update,)
        self._expect('update', self._deployment.update(self._stack, self._template()), 'UPDATE_COMPLETE')
        assert self._it()['resource_status'] == 'UPDATE_COMPLETE', f'not updated in place: {self._events()}'

    def replace(self) -> None:
        place = self._place() if self._life.at and self._life.gone else None
        self._changes += (self._life.replace,)
        self._expect('replace', self._deployment.update(self._stack, self._template()), 'UPDATE_COMPLETE')
        assert self._it()['resource_status'] == 'CREATE_COMPLETE', f'not replaced: {self._events()}'
        if place is not None and place != self._place():
            eventually(f'the end of the replaced {place}', lambda: self._is_gone(place))

    def _events(self) -> str:
        found = self._deployment.ask('GET', f'{self._stack}/resources/{IT}/events', 200)['events']
        return '; '.join(f'{each["resource_status"]} {each["resource_status_reason"]}' for each in found[-4:])

    def drift(self) -> None:
        """Changed by somebody; a converging update puts it right."""
        before, now = self.moved()
        self._expect('drift', self._deployment.update(self._stack, self._template(), converge=True), 'UPDATE_COMPLETE')
        assert now() == before, 'it was not put right'

    def moved(self) -> tuple[dict[str, Any], Callable[[], dict[str, Any]]]:
        """Changes the object as the life says. The values before, and a function that reads them now."""
        assert self._life.drift is not None
        service, path = self._place()
        sent = filled(self._life.drift.send, self._names)
        (key, fields), = sent.items()

        def now() -> dict[str, Any]:
            found = self._cloud.get(service, path)
            return {name: (found[key] if key else found)[name] for name in fields}

        before = now()
        answer = self._cloud.ask(service, self._life.drift.how, path, json=sent if key else fields)
        assert answer.status_code < 300, f'drift: {answer.status_code} {answer.text}'
        assert now() == fields, 'nothing drifted'
        assert before != fields, 'it was like this before'
        return before, now

    def act(self, action: str) -> None:
        self._expect(action, self._deployment.act(self._stack, action), f'{action.upper()}_COMPLETE')

    def snapshot(self) -> None:
        path = f'{self._stack}/snapshots'
        made = self._deployment.ask('POST', path, 200, {'name': self._names['unique']})
        self._expect('snapshot', self._deployment.settled(self._stack), 'SNAPSHOT_COMPLETE')
        self._deployment.ask('POST', f'{path}/{made["id"]}/restore', 202)
        self._expect('restore', self._deployment.settled(self._stack), 'RESTORE_COMPLETE')
        self._deployment.ask('DELETE', f'{path}/{made["id"]}', 204)
        eventually('the end of the snapshot', lambda: not self._deployment.ask('GET', path, 200)['snapshots'])

    def miss(self) -> None:
        """Taken away by somebody: a check says so if the type has one, a converging update makes it anew."""
        self._take_away()
        status = self._deployment.act(self._stack, 'check')
        unable = 'not supported' in self._it()['resource_status_reason']
        self._expect('check of what is gone', status, 'CHECK_COMPLETE' if unable else 'CHECK_FAILED')
        self._expect('heal', self._deployment.update(self._stack, self._template(), converge=True), 'UPDATE_COMPLETE')
        assert self._is_there(self._place()), 'it was not made again'

    def delete_what_is_gone(self) -> None:
        self._take_away()
        self.delete('delete what is gone')

    def delete(self, step: str = 'delete') -> None:
        place = self._place() if self._life.at and self._life.gone and self._it()['physical_resource_id'] else None
        self._expect(step, self._deployment.delete(self._stack), GONE)
        if place is not None:
            assert self._is_gone(place), f'{step}: {place} is still there'

    def give_up(self) -> None:
        """However far it came: nothing may stay."""
        if self._stack and self._deployment.delete(self._stack) != GONE:
            raise AssertionError(f'the stack cannot be deleted: {self._deployment.why(self._stack)}')



def live(cloud: Cloud, deployment: Deployment, life: Life, names: dict[str, Any], counting: bool = False) -> Diary:
    """The whole life. Never raises: what went wrong stands in the diary.

    `counting`: how many objects the stack made is written down too; nothing else may happen in the cloud meanwhile.
    """
    diary = Diary()
    living = Living(cloud, deployment, life, names, diary)
    before = cloud.listing() if counting else {}

    def count() -> None:
        after = cloud.listing()
        diary.objects = {kind: len(ids - before[kind]) for kind, ids in after.items() if ids - before[kind]}

    steps: list[Callable[[], None]] = [living.create]
    if not life.refused:
        steps += [*([count] if counting else []), living.read, living.leave, living.observe]
        steps += [living.update] if life.update else []
        steps += [living.drift] if life.drift else []
        steps += [lambda: living.act('check'), lambda: living.act('suspend'), lambda: living.act('resume')]
        steps += [living.snapshot] if life.snapshot else []
        steps += [living.replace] if life.replace else []
    steps += [living.delete]
    _walk(living, diary, steps)
    if life.at and life.gone and not life.refused and diary.failure is None:
        second = Living(cloud, deployment, life, names, Diary())
        _walk(second, second._diary, [second.create, *([] if life.gone == 'unseen' else [second.miss]),
                                      second.delete_what_is_gone])
        diary.steps |= {step: ended for step, ended in second._diary.steps.items() if step != 'create'}
        diary.failure = second._diary.failure
    return diary


def _walk(living: Living, diary: Diary, steps: list[Callable[[], None]]) -> None:
    done = 'nothing'
    try:
        for step in steps:
            step()
            done = ', '.join(diary.steps)
    except Exception as error:
        diary.failure = f'after {done}: {str(error) or repr(error)}'
        try:
            living.give_up()
        except Exception as worse:
            diary.failure += f'\nand then: {worse}'


