"""Drives a whole engine for the operations `create` and `update` of case files: the API, an engine and SQLite in this
process. The cloud is not needed: the cases' types use none."""

from __future__ import annotations

import atexit
import functools
import json
import logging
import tempfile
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from heatlite.common.green_threads import GreenRuntime
from heatlite.db import tables
from heatlite.db.connection import Database
from heatlite.engine.service import EngineService
from heatlite.rpc.client import InProcessClient
from tests.api import in_process

OPERATIONS = ('create', 'update')
READY = True
PROJECT, NAME = 'project0', 'tplcase'
PATIENCE = 10.0                 # seconds for one action of a stack
PAUSE = 0.01                    # between two looks at it


class Refused(Exception):
    """An answer of 400 and above, as the case files write it."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        super().__init__(str(answer))


class Service:
    """An API with its engine. Started once, used by all cases."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._database = Database(f'sqlite:///{self._directory.name}/db.sqlite')
        tables.metadata.create_all(self._database.engine)
        conf = in_process.options(auth_encryption_key='k' * 32)
        cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
        self._runtime = GreenRuntime()
        self._engine = EngineService(conf, self._runtime, self._database)
        self._engine.start()
        self._application = in_process.build(conf, self._database,
                                             InProcessClient(self._runtime, self._engine.endpoint))
        atexit.register(self.stop)

    def stop(self) -> None:
        atexit.unregister(self.stop)
        self._engine.stop()
        cfg.CONF.clear_override('auth_encryption_key')
        self._database.close()
        self._directory.cleanup()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        self._runtime.sleep(0)
        answer = in_process.ask(self._application, method, f'/v1/{PROJECT}{path}', body, project=PROJECT)
        if answer.status_int == 302:
            return self.ask(method, answer.headers['Location'].split(PROJECT, 1)[1], body)
        if answer.status_int >= 400:
            error = answer.json.get('error') or {}
            raise Refused({'type': error.get('type'), 'status': answer.status_int,
                           'message': error.get('message') or ''})
        return answer.json if 'json' in (answer.content_type or '') and answer.body else None

    def finished(self, identity: str) -> dict[str, Any]:
        """The stack, once nothing is in progress any more."""
        deadline = self._runtime.monotonic() + PATIENCE
        while True:
            stack: dict[str, Any] = self.ask('GET', f'/stacks/{identity}')['stack']
            if not stack['stack_status'].endswith('IN_PROGRESS'):
                return stack
            if self._runtime.monotonic() > deadline:
                raise TimeoutError(f'{identity} is still {stack["stack_status"]}')
            self._runtime.sleep(PAUSE)

    def remove(self) -> None:
        """Deletes the stack of a case, if there is one, and waits for its end."""
        try:
            identity = self.ask('GET', f'/stacks/{NAME}')['stack']['id']
            self.ask('DELETE', f'/stacks/{NAME}/{identity}')
            while True:
                stack = self.finished(f'{NAME}/{identity}')
                if stack['stack_status'].startswith('DELETE'):
                    return
                self._runtime.sleep(PAUSE)
        except Refused as refused:
            if refused.answer['status'] != 404:
                raise


@functools.cache
def service() -> Service:
    logging.disable(logging.ERROR)          # what cases provoke is told by their verdicts
    return Service()


def stop() -> None:
    """Ends the service, if there is one; the next case gets another."""
    if service.cache_info().currsize:
        service().stop()
        service.cache_clear()
    logging.disable(logging.NOTSET)


def _body(case: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {'template': case.get('template'), 'parameters': case.get('params') or {},
                            'files': case.get('files') or {}}
    if case.get('env') is not None:
        body['environment'] = case['env']
    if case.get('environment_files'):
        body['environment_files'] = case['environment_files']
    return body


def create(case: Mapping[str, Any]) -> dict[str, Any]:
    """Create the stack, wait, read the outputs: `result`, `output_errors`, `state`, and what `show` asks."""
    try:
        service().ask('POST', '/stacks', {'stack_name': NAME, **_body(case)})
        return _told(case)
    except Refused as refused:
        return {'error': refused.answer}
    except TimeoutError as error:
        stop()
        return {'error': {'type': 'TimeoutError', 'status': 500, 'message': str(error)}}
    finally:
        service().remove()


def update(case: Mapping[str, Any]) -> dict[str, Any]:
    """As `create`, then the update with `case['update']`."""
    try:
        service().ask('POST', '/stacks', {'stack_name': NAME, **_body(case)})
        stack = service().finished(NAME)
        change = _body({**({} if case.get('patch') else case), **case['update']})
        if case.get('patch'):
            change = {key: value for key, value in change.items() if value not in (None, {})}
            if case.get('clear_parameters'):
                change['clear_parameters'] = case['clear_parameters']
        service().ask('PATCH' if case.get('patch') else 'PUT', f'/stacks/{NAME}/{stack["id"]}', change)
        return _told(case)
    except Refused as refused:
        return {'error': refused.answer}
    except TimeoutError as error:
        stop()
        return {'error': {'type': 'TimeoutError', 'status': 500, 'message': str(error)}}
    finally:
        service().remove()


def generate(case: Mapping[str, Any]) -> dict[str, Any]:
    """The template generated for a type."""
    name, kind = case['resource_type'], case['template_type']
    try:
        return {'result': service().ask('GET', f'/resource_types/{name}/template?template_type={kind}')}
    except Refused as refused:
        return {'error': refused.answer}


def _told(case: Mapping[str, Any]) -> dict[str, Any]:
    stack = service().finished(NAME)
    outputs = stack.get('outputs') or []
    told: dict[str, Any] = {
        'state': stack['stack_status'], 'reason': stack['stack_status_reason'],
        'result': {output['output_key']: output['output_value'] for output in outputs
                   if 'output_error' not in output}}
    if stack['stack_status'].endswith('FAILED'):
        told['result'] = {key: value for key, value in told['result'].items() if value is not None}
    errors = {output['output_key']: output['output_error'] for output in outputs if 'output_error' in output}
    if errors:
        told['output_errors'] = errors
    show = case.get('show') or ()
    path = f'/stacks/{NAME}/{stack["id"]}'
    if 'resources' in show:
        told['resources'] = {resource['resource_name']: resource['resource_type']
                             for resource in service().ask('GET', f'{path}/resources')['resources']}
    if 'parameters' in show:
        told['parameters'] = stack['parameters']
    if 'environment' in show:
        told['environment'] = service().ask('GET', f'{path}/environment')
    return json.loads(json.dumps(told))     # type: ignore[no-any-return]
