"""One stack with one resource that is looked at, in engines that can be killed, over a cloud that can be counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from heatlite.common import runtime as runtimes
from heatlite.db import plans, resources
from heatlite.db.plans import StoredPlan
from heatlite.engine.resource import Resource
from heatlite.engine.service import EngineService
from heatlite.engine.types.registry import TypeRegistry
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages
from heatlite.testing.calls import Calls
from heatlite.testing.clouds import Cloud, State, Thing
from heatlite.testing.cluster import Cluster
from heatlite.testing.examples import Example
from heatlite.testing.runtime import Killed, Universe

IT = 'it'                                   # the name of the resource that is looked at
VERSION = '2021-04-16'


class Running:
    """The runtime of the simulated process that has its turn, for code that asks for the current one."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._outside = universe.process('outside')

    def __getattr__(self, name: str) -> Any:
        running = self._universe.running
        return getattr(running.runtime if running is not None else self._outside, name)


class Replaceable:
    """Marks a class of `replaceable`."""


def replaceable(kind: type[Resource], names: set[str]) -> type[Resource]:
    """Return the type, with resources called one of `names` replaced when they are unhealthy, although they are
    there."""
    def needs_replace_failed(self: Resource) -> bool:
        return self.name in names or bool(kind.needs_replace_failed(self))

    return type(kind.__name__, (kind, Replaceable), {
        'needs_replace_failed': needs_replace_failed, '__module__': kind.__module__, '__doc__': kind.__doc__})


class ResourceScenario:
    """`with ResourceScenario(...) as scenario`: the engines are up; `prepare()` makes the example's `needs`."""

    def __init__(self, type_name: str, example: Example, cloud: Cloud, register: Callable[[TypeRegistry], None],
                 **options: Any) -> None:
        """`register(registry)`: adds the types that are checked. `options`: of the engines, as those of Cluster."""
        self.type_name, self.example, self.cloud = type_name, example, cloud
        self.unhealthy: set[str] = set()            # names in `needs` of what is replaced whenever it is unhealthy
        self._clock = 0.0
        self.calls = Calls(self._around)
        self.cluster = Cluster(project_id=cloud.project_id,
                               prepare=lambda service: self._register(register, service), **options)
        self.stack_id = ''
        self.before: list[Thing] | None = None      # things there without it
        self.with_beside = False                    # what refers to it is there, too
        self.minutes: int | None = None             # that an update may take
        self.extra: Mapping[str, object] = {}          # resources besides those of the example
        self._runtime = runtimes.current()
        runtimes.use(Running(self.cluster.universe))
        self._watched = self.calls.watched()

    def _register(self, register: Callable[[TypeRegistry], None], service: EngineService) -> None:
        register(service.registry)
        for entry in self.example.needs.values():
            kind = service.registry.resolve(entry['type'], IT)
            if isinstance(kind, type) and issubclass(kind, Resource) and not issubclass(kind, Replaceable):
                service.registry.register(entry['type'], replaceable(kind, self.unhealthy))

    def __enter__(self) -> Self:
        self._watched.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._watched.__exit__(None, None, None)
        runtimes.use(self._runtime)
        self.cluster.close()

    def _around(self, label: str) -> None:
        """Note a call of a type: its cloud's clock catches up, and the engine may die."""
        thread = self.cluster.universe.running
        if thread is None:
            return
        if thread.runtime.dead:
            raise Killed
        passed, self._clock = self.cluster.universe.time - self._clock, self.cluster.universe.time
        if passed > 0:
            with self.calls.unwatched():
                self.cloud.advance(passed)
        self.cluster.chaos.point(label, thread.runtime)

    # --- the user -----------------------------------------------------------------------------------------

    def template(self, properties: Mapping[str, object] | None) -> dict[str, object]:
        """With `properties` for it; None: without it."""
        entries = {**self.example.needs, **self.extra}
        if properties is not None:
            entries[IT] = {'type': self.type_name, 'properties': dict(properties)}
            if self.with_beside:
                entries.update(self.example.beside)
        parameters = {name: {'type': 'string', 'default': value} for name, value in self.cloud.parameters.items()}
        return {'heat_template_version': VERSION, 'parameters': parameters, 'resources': entries}

    def prepare(self) -> str | None:
        """Make what it needs. Why that is not possible, or None."""
        found = self.cluster.ask(messages.CreateStack(
            template=self.template(None), stack_name='kit', environment=dict(self.example.environment)))
        self.stack_id = found['stack_id']
        row = self.cluster.settle(self.stack_id)
        self.before = self.things()
        return None if row.status == 'COMPLETE' else self.reason()

    def put(self, properties: Mapping[str, object] | None, converge: bool = False) -> str | None:
        """Make, change or delete it, and wait. Why that failed, or None."""
        self.cluster.ask(messages.UpdateStack(**self._update(properties), converge=converge))
        return self._failure()

    def plan(self, properties: Mapping[str, object] | None, refresh: bool = False) -> StoredPlan:
        """Plans what `put` does. The document has the changes, by path. `refresh`: with a look at the cloud."""
        made = self.cluster.ask(messages.CreatePlan(action=messages.UPDATE, converge=refresh,
                                                    **self._update(properties)))
        with self.cluster.database.reader() as tx:
            found = plans.show(tx, made['id'], str(self.cluster.context.project_id))
        assert found is not None
        return found

    def apply(self, plan: StoredPlan) -> str | None:
        """Do what is planned, and wait. Why that failed, or None."""
        self.cluster.ask(messages.ApplyPlan(plan.id))
        return self._failure()

    def _update(self, properties: Mapping[str, object] | None) -> dict[str, Any]:
        return {'stack_id': self.stack_id, 'template': self.template(properties),
                'environment': dict(self.example.environment), 'timeout_mins': self.minutes}

    def _failure(self) -> str | None:
        row = self.cluster.settle(self.stack_id)
        return None if row.status == 'COMPLETE' else self.reason()

    def mark_unhealthy(self, name: str) -> None:
        """Make the next update replace it."""
        self.unhealthy.add(name)
        self.cluster.ask(messages.MarkUnhealthy(self.stack_id, name, True, 'to be replaced'))
        self.cluster.settle(self.stack_id)

    def clear(self) -> None:
        """Delete the stack; its cloud serves other types, too."""
        self.cluster.delete(self.stack_id)
        self.cluster.settle(self.stack_id)

    def act(self, action: str) -> str | None:
        self.cluster.ask(messages.StackAction(self.stack_id, action))
        row = self.cluster.settle(self.stack_id)
        return None if row.status == 'COMPLETE' else self.reason()

    def reason(self) -> str:
        """Return what the last event of a failed resource says, or the stack itself."""
        for name, action, status, reason in self.cluster.events(self.stack_id):
            if status == 'FAILED' and action != 'CHECK' and name in (IT, *self.example.needs, *self.example.beside):
                return f'{name} {action}: {reason}'
        return str(self.cluster.row(self.stack_id).reason)

    # --- looking ------------------------------------------------------------------------------------------

    def things(self) -> list[Thing] | None:
        with self.calls.unwatched():
            return self.cloud.things()

    def new_things(self) -> list[Thing] | None:
        """Things that are there because of it; None: unknown."""
        now = self.things()
        if now is None or self.before is None:
            return None
        known = list(self.before)
        for thing in known:
            if thing in now:
                now.remove(thing)
        return [thing for thing in now if _kind(thing) not in self.example.leaves]

    def state(self) -> State | None:
        with self.calls.unwatched():
            return self.cloud.state()

    def writes(self) -> int:
        with self.calls.unwatched():
            counted = self.cloud.writes()
        return len(self.calls.writes) if counted is None else counted

    def rows(self) -> list[tuple[str, str, str | None]]:
        """Return (action, status, physical id) of each row it has."""
        return self.cluster.states(self.stack_id).get(IT, [])

    def row_ids(self, name: str = IT) -> list[int]:
        """Another id after an update: it was replaced."""
        with self.cluster.database.reader() as tx:
            return [state.id for state in resources.light(tx, self.stack_id) if state.name == name]

    def events(self) -> int:
        return sum(name == IT for name, *_rest in self.cluster.events(self.stack_id))

    def asked(self, question: Callable[[Resource], object]) -> object:
        """`question(it)`, asked inside an engine; its answer. Raises what it raises."""
        answers: list[tuple[object, Exception | None]] = []

        def ask(service: EngineService) -> None:
            try:
                stack = service.reader.read(self.stack_id)
                answers.append((question(stack[IT]) if stack is not None else None, None))
            except Exception as error:
                answers.append((None, error))

        runtime, service = self.cluster.engines[0]
        # Another engine may have done the last update before this one got to let go of the stack as it was.
        self.cluster.universe.run(lambda: not service.controller.owns(self.stack_id), limit=60.0)
        runtime.spawn(ask, service)
        if not self.cluster.universe.run(lambda: bool(answers)):
            raise TimeoutError('no answer')
        answer, error = answers[0]
        if error is not None:
            raise error
        return answer

    def delete_behind_our_back(self) -> None:
        """Delete the object as another user would: through the type's own handlers, and nothing is stored."""
        def delete(it: Resource) -> None:
            assert it.record is not None
            it.bind(it.record)
            it.take_state(it.record.state._replace(action=Action.DELETE, status=Status.IN_PROGRESS))
            handler, check = it.handler('DELETE'), it.checker('DELETE')
            token = handler() if handler is not None else None
            while check is not None and not check(token):
                it.runtime.sleep(1)

        self.asked(delete)


def _kind(thing: Thing) -> object:
    return thing[0] if isinstance(thing, tuple) else thing


def planned(plan: StoredPlan) -> str:
    """Return what would change, with its values; '' if nothing would."""
    return '; '.join(f'{each["action"]} of {".".join(each["path"])}: {each["values"]}'
                     for each in plan.document['changes'] if each['action'] != 'none')


def not_planned(plan: StoredPlan, done: str) -> str:
    """How a plan differs from what was done to the resource; '' if it does not."""
    planned = next(each for each in plan.document['changes'] if each['path'] == [IT])
    if done not in (planned['action'], *planned['may']):
        return f"the plan said {planned['action']}, and what was done is {done}"
    forced = planned['cause'] is not None or any(each['forces_replacement'] for each in planned['values'])
    if planned['values'] and planned['action'] in ('update', 'replace') and forced != (planned['action'] == 'replace'):
        return f"the plan said {planned['action']}, and of {'a' if forced else 'no'} value that it forces a replacement"
    return ''
