#!/usr/bin/env python3
"""A tour of heatlite in half a minute: starts it, creates, updates and deletes a stack over the REST API.

Needs nothing but the installed package. Exit code 1 when anything did not end as it should.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / 'examples' / 'servers.yaml'
PATIENCE = 60.0                 # seconds an action may take before the demo gives up
SIGNS = {'IN_PROGRESS': '~', 'COMPLETE': '+', 'FAILED': '!'}
COLOURS = {'IN_PROGRESS': '33', 'COMPLETE': '32', 'FAILED': '31'}
TERMINAL = sys.stdout.isatty()


class Failed(Exception):
    """Something did not end as it should; the text says what."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix='heatlite-demo-') as folder:
        service = Service(Path(folder))
        try:
            tour(*service.start())
        except (Failed, OSError, KeyboardInterrupt) as error:
            say(f'\nThe demo failed: {error or type(error).__name__}')
            service.show_log()
            return 1
        finally:
            service.stop()
    say('Go on by yourself:')
    say('  make serve                     # starts it for good: on port 8004, with a simulated cloud')
    say('and in another terminal, with the openstack client of your system, or that which this installs:')
    say("  .venv/bin/pip install -c constraints.txt -e '.[client]'")
    say('  . .venv/bin/activate           # puts the programs of this checkout into the path of this shell')
    say('  export OS_AUTH_TYPE=none OS_ENDPOINT=http://127.0.0.1:8004/v1/admin')
    say('  openstack stack create --template examples/servers.yaml --wait mine')
    say('  openstack stack output show --all mine; openstack stack resource list mine')
    say('  openstack stack delete --yes --wait mine')
    return 0


def tour(api: Api, cloud: Cloud) -> None:
    template = TEMPLATE.read_text()
    heading(f'create: {TEMPLATE.relative_to(ROOT)}')
    body = {'stack_name': 'demo', 'template': template}
    link = api.call('POST', '/stacks', body)['stack']
    stack = f"/stacks/demo/{link['id']}"
    watch(api, stack, 'CREATE')
    outputs(api, stack)
    say(f'  made in the cloud: {cloud.made() or "nothing"}\n')

    changes = {'flavor': 'm1.small', 'volume_size': 2, 'with_spare': True}
    heading('preview of an update: ' + ', '.join(f'{name}={value}' for name, value in changes.items()))
    wanted = {'parameters': changes, 'existing': True}
    preview(api.call('PATCH', f'{stack}/preview', wanted)['resource_changes'])

    heading('update: the same, for real')
    api.call('PATCH', stack, wanted)
    watch(api, stack, 'UPDATE')
    outputs(api, stack)
    say(f'  made in the cloud: {cloud.made() or "nothing"}\n')

    heading('delete')
    api.call('DELETE', stack)
    watch(api, stack, 'DELETE')
    left = api.call('GET', '/stacks')['stacks']
    if left:
        raise Failed(f'stacks are left: {[each["stack_name"] for each in left]}')
    if cloud.made():
        raise Failed(f'left in the cloud: {cloud.made()}')
    say('  nothing is left, in the cloud neither\n')


class Service:
    """heatlite-all with a simulated cloud, in a folder that is thrown away."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / 'log'
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> tuple[Api, Cloud]:
        """Its API, and the cloud it started along."""
        began = time.monotonic()
        with self._log.open('w') as log:
            self._process = subprocess.Popen(
                [sys.executable, '-m', 'heatlite.cmd.all_in_one', '--state-dir', str(self._folder), '--port', '0',
                 '--cloud', 'simulated'], stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        urls: list[str] = []
        for line in self._process.stdout:       # it says little more there: the pipe cannot fill
            urls += [word.rstrip(';') for word in line.split() if word.startswith('http://')]
            if len(urls) >= 2:
                say(f'heatlite is ready after {time.monotonic() - began:.1f} s at {urls[0]}, with a simulated cloud\n')
                say(f'Its console, while this runs: {urls[0]}/console/ (make serve goes on running)\n')
                return Api(urls[0]), Cloud(urls[1])
        raise Failed('heatlite did not start')

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def show_log(self) -> None:
        if self._log.exists():
            say('The last lines of its log:')
            say('\n'.join(f'  {line}' for line in self._log.read_text().splitlines()[-30:]))


class Api:
    """The REST API as a plain HTTP client sees it."""

    def __init__(self, url: str) -> None:
        self._base = f'{url}/v1/admin'

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON answer, or None. Raises Failed with the message of the service."""
        request = urllib.request.Request(
            self._base + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={'Content-Type': 'application/json', 'Accept': 'application/json'})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            document = error.read().decode(errors='replace')
            with contextlib.suppress(ValueError, KeyError, TypeError):
                found = json.loads(document)['error']
                document = found.get('message') or found['type']
            raise Failed(f'{method} {path}: {error.code}: {document}') from None
        return json.loads(text) if text.strip() else None


class Cloud:
    """The simulated cloud, seen from behind its counter."""

    def __init__(self, url: str) -> None:
        self._url = f'{url}/_sim/objects'
        self._before = self._count()

    def made(self) -> str:
        """What is there that was not there at the start, as words."""
        now = self._count()
        return ', '.join(f'{kind} {now[kind] - self._before.get(kind, 0)}' for kind in sorted(now)
                         if now[kind] != self._before.get(kind, 0))

    def _count(self) -> dict[str, int]:
        with urllib.request.urlopen(self._url, timeout=30) as answer:
            objects = json.loads(answer.read())['objects']
        return {kind.partition('.')[2]: found['count'] for kind, found in objects.items()
                if not kind.startswith('identity.')}


def watch(api: Api, stack: str, action: str) -> None:
    """Shows the resources until the action has ended; raises Failed unless it is complete."""
    began, shown = time.monotonic(), Board()
    while True:
        found = api.call('GET', stack)['stack']
        shown.draw(api.call('GET', f'{stack}/resources')['resources'])
        status = found['stack_status']
        if status.startswith(action) and not status.endswith('IN_PROGRESS'):
            break
        if time.monotonic() - began > PATIENCE:
            raise Failed(f'still {status} after {PATIENCE:.0f} s')
        time.sleep(0.1)
    if status != f'{action}_COMPLETE':
        raise Failed(f"{status}: {found['stack_status_reason']}")
    say(f'  {status} after {time.monotonic() - began:.1f} s\n')


class Board:
    """Resources and their states: redrawn in place on a terminal, one line per change elsewhere."""

    def __init__(self) -> None:
        self._seen: dict[str, str] | None = None        # None: before the first look
        self._lines = 0
        self._width = 0

    def draw(self, resources: list[dict[str, Any]]) -> None:
        found = {each['resource_name']: each for each in resources}
        self._width = max(self._width, *map(len, found), 0)
        rows = [self._row(found[name], self._width) for name in sorted(found)]
        states = {name: each['resource_status'] for name, each in found.items()}
        gone = [name for name in self._seen or {} if name not in states]
        if TERMINAL:
            if self._lines:
                sys.stdout.write(f'\x1b[{self._lines}A\x1b[J')
            self._lines = len(rows)
            say('\n'.join(rows)) if rows else None
        else:
            for name, row in zip(sorted(found), rows, strict=True):
                if self._seen is not None and self._seen.get(name) != states[name]:
                    say(row)
            for name in gone:
                say(f'  - {name}')
        self._seen = states

    @staticmethod
    def _row(resource: dict[str, Any], width: int) -> str:
        action, _, status = resource['resource_status'].partition('_')
        text = 'waits' if action == 'INIT' else f'{action.lower()} {status.lower().replace("_", " ")}'
        sign = ' ' if action == 'INIT' else coloured(SIGNS.get(status, '?'), COLOURS.get(status))
        return f"  {sign} {resource['resource_name']:<{width}} {resource['resource_type']:<28} {text}"


def preview(changes: dict[str, list[dict[str, Any]]]) -> None:
    for kind in ('added', 'updated', 'replaced', 'deleted', 'unchanged'):
        names = sorted(each['resource_name'] for each in changes[kind])
        say(f"  {kind:<10} {', '.join(names) or '-'}")
    say('')


def outputs(api: Api, stack: str) -> None:
    for each in sorted(api.call('GET', stack)['stack']['outputs'], key=lambda each: each['output_key']):
        if each.get('output_error'):
            raise Failed(f"output {each['output_key']}: {each['output_error']}")
        if each['output_value'] is not None:
            say(f"  {each['output_key']} = {each['output_value']}")
    say('')


def heading(text: str) -> None:
    say(coloured(text, '1'))


def coloured(text: str, colour: str | None) -> str:
    return f'\x1b[{colour}m{text}\x1b[0m' if TERMINAL and colour else text


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == '__main__':
    sys.exit(main())
