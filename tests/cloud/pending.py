"""Stacks that Heat leaves under way, and signals to where Heat said: tests/cloud/pending.yaml, read and asked for."""

from __future__ import annotations

import functools
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import yaml

from heatlite.testing.examples import LOADER
from tests.cloud.deployment import GONE, Deployment, eventually
from tests.cloud.table import IT, filled

FILE = Path(__file__).with_name('pending.yaml')
INSIDE = 'inside.yaml'
ADDRESS = 'address'
SOME = 'some'
VERBS = {'waitcondition': 'PUT', 'signal': 'POST'}         # by the part of a URL of Heat's CFN API before the stack
HOT = '2018-08-31'
PATIENCE = 60                               # seconds for one request


@dataclass(frozen=True)
class Pending:
    """One entry; the comments of the file say what each field is."""

    name: str
    resources: dict[str, Any]
    inside: dict[str, Any] = field(default_factory=dict)
    asked: str | None = None
    changed: dict[str, Any] = field(default_factory=dict)
    signal: dict[str, Any] | None = None
    shows: dict[str, dict[str, Any]] = field(default_factory=dict)
    ends: str = 'CREATE_COMPLETE'
    needs: tuple[str, ...] = ()

    def body(self, names: dict[str, Any], changed: bool = False) -> dict[str, Any]:
        """What a request to make or to update the stack says."""
        resources = {**self.resources, **(self.changed if changed else {})}
        found: dict[str, Any] = filled(
            {'template': {'heat_template_version': HOT, 'resources': resources}}, names)
        if self.inside:
            found['files'] = {INSIDE: json.dumps({'heat_template_version': HOT, **self.inside})}
        return found


def pending() -> dict[str, Pending]:
    """All entries by name, in the order of the file."""
    return {name: Pending(name, **{**entry, 'needs': tuple(entry.get('needs', ()))})
            for name, entry in yaml.load(FILE.read_text(), Loader=LOADER).items() if not name.startswith('.')}


# --- while Heat serves ---------------------------------------------------------------------------------------

def begin(service: Deployment, entry: Pending, name: str, names: dict[str, Any]) -> str:
    """Makes the stack. Returns its path."""
    return service.create(name, **entry.body(names))


def ask(service: Deployment, entry: Pending, stack: str, names: dict[str, Any]) -> None:
    """Asks for what is not to end before the switch."""
    if entry.asked is None:
        return
    status = service.settled(stack)
    assert status == 'CREATE_COMPLETE', f'{status}: {service.why(stack)}'
    if entry.asked == 'delete':
        service.ask('DELETE', stack, 204)
    else:
        service.ask('PUT', stack, 202, entry.body(names, changed=True))


def address(service: Deployment, entry: Pending, stack: str) -> Any:
    """Where Heat says that signals go: a URL, a command, or what a guest needs to log in; None without signals."""
    if entry.signal is None:
        return None
    issued = eventually(f'the address in {stack}', lambda: _issued(service, entry, stack))
    return json.loads(issued) if isinstance(issued, str) and issued.startswith('{') else issued


def _issued(service: Deployment, entry: Pending, stack: str) -> Any:
    listed = {each['resource_name']: each for each in service.resources(stack)}
    failed = [name for name, each in listed.items() if each['resource_status'].endswith('FAILED')]
    assert not failed, service.why(stack)
    states = {name: each['resource_status'] for name, each in listed.items()}       # at first there are none
    if ADDRESS in entry.resources:
        if states.get(ADDRESS) != 'CREATE_COMPLETE':
            return None
        return service.resource(stack, ADDRESS, ('value',))['attributes']['value']
    action = (entry.asked or 'create').upper()
    if states.get(IT) != f'{action}_IN_PROGRESS' or not listed[IT]['physical_resource_id']:
        return None
    deployment = service.ask('GET', f'/software_deployments/{listed[IT]["physical_resource_id"]}', 200)
    config = service.ask('GET', f'/software_configs/{deployment["software_deployment"]["config_id"]}', 200)
    inputs = {each['name']: each.get('value') for each in config['software_config']['inputs']}
    return inputs['deploy_signal_id']


# --- after the switch ----------------------------------------------------------------------------------------

def send(issued: Any, body: dict[str, Any]) -> None:
    """Sends a signal as a client does to what Heat has issued. Raises AssertionError when it is not accepted."""
    data = json.dumps(body)
    if isinstance(issued, str) and issued.startswith('curl '):
        done = subprocess.run(['sh', '-c', f'{issued} --fail --silent --show-error --data-binary \'{data}\''],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, f'{issued}: {done.stdout} {done.stderr}'
        return
    if isinstance(issued, dict) and 'user_id' in issued:
        answer = requests.post(issued['alarm_url'], data=data, timeout=PATIENCE, headers={
            'X-Auth-Token': _token(issued), 'Content-Type': 'application/json'})
    else:
        url = issued['alarm_url'] if isinstance(issued, dict) else issued
        verb = next((verb for part, verb in VERBS.items() if f'/v1/{part}/' in url), 'PUT')
        answer = requests.request(verb, url, data=data, timeout=PATIENCE)
    assert answer.status_code < 300, f'{answer.status_code} {answer.text[:500]}'


def _token(issued: dict[str, Any]) -> str:
    root = issued['auth_url'].rstrip('/').removesuffix('/v3')
    answer = requests.post(f'{root}/v3/auth/tokens', timeout=PATIENCE, json={
        'auth': {'identity': {'methods': ['password'], 'password': {
            'user': {'id': issued['user_id'], 'password': issued['password']}}},
            'scope': {'project': {'id': issued['project_id']}}}})
    assert answer.status_code == 201, f'{answer.status_code} {answer.text[:500]}'
    return answer.headers['X-Subject-Token']


def ended(service: Deployment, entry: Pending, stack: str) -> None:
    """Raises AssertionError when the stack does not end as it should, with the values it should show."""
    status = service.settled(stack)
    assert status == entry.ends, f'{status}: {service.why(stack)}'
    if status == GONE:
        return
    for name, wanted in entry.shows.items():
        for attribute, value in wanted.items():
            eventually(f'{value!r} in {attribute} of {name}',
                       functools.partial(_shows, service, stack, name, attribute, value))


def _shows(service: Deployment, stack: str, name: str, attribute: str, value: Any) -> bool:
    found = service.resource(stack, name, (attribute,))['attributes'].get(attribute)
    return bool(found) if value == SOME else bool(found == value)
