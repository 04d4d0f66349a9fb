"""Mistral: workflows kept as text; an execution runs for a moment and succeeds, doing nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import yaml

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, NotFound, Problem
from cloudsim.service import Route, Service
from cloudsim.store import Thing


class Definitions(Collection):
    """Workflows, workbooks, actions: made of YAML text, several at once."""

    def texts(self, call: Call) -> dict[str, dict[str, Any]]:
        """Name -> parsed. Raises BadRequest."""
        try:
            parsed = yaml.safe_load(call.raw)
        except yaml.YAMLError as error:
            raise BadRequest(f'Definition could not be parsed: {error}') from None
        if not isinstance(parsed, dict) or str(parsed.get('version')) not in ('2.0', '2'):
            raise BadRequest("Invalid DSL: version '2.0' is needed")
        if self.kind.name == 'workbooks':
            return {str(parsed['name']): parsed}
        found = {str(name): said for name, said in parsed.items() if name != 'version'}
        if not found or not all(isinstance(each, dict) for each in found.values()):
            raise BadRequest('Invalid DSL: no definition')
        if self.kind.name == 'workflows':
            for name, said in found.items():
                if not said.get('tasks'):
                    raise BadRequest(f"Invalid DSL: 'tasks' is a required property of {name}")
        return found

    def do_create(self, call: Call, *parents: str) -> Any:
        made = []
        for name, said in self.texts(call).items():
            if any(each.project_id == call.project_id for each in self.table.find('name', name)):
                raise Problem(409, f"Duplicate entry for {self.kind.item_key or self.kind.name}: '{name}'")
            made.append(self.make(call, self.fields(call, name, said)))
        if self.kind.name == 'workbooks':
            return 201, made[0].data
        return 201, {self.kind.name: [each.data for each in made]}

    def fields(self, call: Call, name: str, said: dict[str, Any]) -> dict[str, Any]:
        definition = call.raw.decode()
        if self.kind.name == 'workbooks':
            return {'name': name, 'definition': definition}
        inputs = [f'{key}={value}' for each in said.get('input') or () if isinstance(each, dict)
                  for key, value in each.items()] + [each for each in said.get('input') or () if isinstance(each, str)]
        return {'name': name, 'definition': definition, 'input': ', '.join(inputs), 'tags': said.get('tags') or [],
                'scope': call.asked('scope') or 'private', 'namespace': call.asked('namespace') or ''}

    def do_replace(self, call: Call, *ids: str) -> Any:
        changed = []
        for name, said in self.texts(call).items():
            thing = self.get(call, ids[0] if ids else name)
            self.table.change(thing, **self.fields(call, name, said), updated_at=self.cloud.clock.stamp(
                self.kind.stamp_form))
            changed.append(thing)
        return 200, {self.kind.name: [each.data for each in changed]}

    def routes(self) -> list[Any]:
        return [*super().routes(), ('PUT', self.kind.path, self.do_replace), ('PUT', self.item_path, self.do_replace)]


class Executions(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        wanted = str(data['workflow_id'] or data['workflow_name'])
        workflow = self.service.collection('workflows').seen(call, wanted)
        if workflow is None:
            raise NotFound('Workflow', wanted)
        data.update(workflow_id=workflow.id, workflow_name=workflow['name'],
                    input=as_map(data['input']), params=as_map(data['params']))
        check_input(workflow, data['input'])
        thing.hidden['workflow'] = workflow

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {**thing.data, **{name: json.dumps(thing[name]) for name in ('input', 'output', 'params')}}

    def set_state(self, thing: Thing, state: str) -> None:
        super().set_state(thing, state)
        if state == 'SUCCESS':
            thing.data['output'] = dict(thing['input'])

    def changing(self, call: Call, thing: Thing, changes: dict[str, Any]) -> None:
        if 'state' in changes:
            thing.task += 1
            if changes['state'] == 'RUNNING':
                self.cloud.clock.after(self.cloud.settings.work, lambda: self.set_state(thing, 'SUCCESS'))

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['state'] in ('RUNNING', 'PAUSED', 'IDLE') and not call.is_asked('force'):
            raise Problem(403, 'Only completed executions can be deleted. Use --force to override this.')


def as_map(said: Any) -> dict[str, Any]:
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except ValueError:
            raise BadRequest('input is not JSON') from None
    return said or {}


def check_input(workflow: Thing, given: dict[str, Any]) -> None:
    """Raise BadRequest for inputs that the workflow does not declare, and for those without a default that are missing.
    """
    declared, needed = set[str](), set[str]()
    for each in yaml.safe_load(workflow['definition'])[workflow['name']].get('input') or ():
        if isinstance(each, dict):
            declared |= {str(name) for name in each}
        else:
            declared.add(str(each))
            needed.add(str(each))
    missing, unexpected = sorted(needed - set(given)), sorted(set(given) - declared)
    if missing or unexpected:
        raise BadRequest(f'Invalid input [workflow={workflow["name"]}, missing={missing}, unexpected={unexpected}]')


class CronTriggers(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        wanted = str(data['workflow_id'] or data['workflow_name'])
        workflow = self.service.collection('workflows').seen(call, wanted)
        if workflow is None:
            raise NotFound('Workflow', wanted)
        if not data['pattern'] and not data['first_execution_time']:
            raise BadRequest('Pattern or first_execution_time must be specified.')
        if data['pattern'] and len(data['pattern'].split()) != 5:
            raise BadRequest(f'The specified pattern is not valid: {data["pattern"]}')
        data.update(workflow_id=workflow.id, workflow_name=workflow['name'],
                    workflow_input=as_map(data['workflow_input']), workflow_params=as_map(data['workflow_params']),
                    next_execution_time=self.cloud.clock.stamp('%Y-%m-%d %H:%M:%S', 3600))
        check_input(workflow, data['workflow_input'])

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {**thing.data, **{name: json.dumps(thing[name]) for name in ('workflow_input', 'workflow_params')}}


class WorkflowService(Service):
    classes = {'workflows': Definitions, 'workbooks': Definitions, 'actions': Definitions, 'executions': Executions,
               'cron_triggers': CronTriggers}

    def own_routes(self) -> Iterable[Route]:
        yield 'GET', '/v2/executions/{id}/tasks', lambda call, id: (200, {'tasks': []})
        yield 'GET', '/v2/tasks', lambda call: (200, {'tasks': []})


SERVICE = WorkflowService
