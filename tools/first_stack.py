"""Starts heatlite-all and creates a stack: `first_stack.py TEMPLATE PROGRAM [OPTION...]`. Needs Python only.

Prints what was measured as a line of JSON: the seconds until it listened and until CREATE_COMPLETE. Exit code 1 if the
stack is not complete. The program is stopped with SIGTERM and has to end with code 0.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from typing import Any

GREETING = 'heatlite listens on '
PATIENCE = 600.0                    # seconds for each step
INTERVAL = 0.1


def main(arguments: Sequence[str]) -> int:
    template, *command = arguments
    began = time.monotonic()
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = next((line.partition(GREETING)[2].strip() for line in program.stdout or () if GREETING in line), None)
        if url is None:
            print(f'{command[0]} ended with {program.wait()}', file=sys.stderr)
            return 1
        measured: dict[str, Any] = {'listens': round(time.monotonic() - began, 1)}
        made = ask(f'{url}/v1/admin/stacks', {
            'stack_name': 'first', 'template': pathlib.Path(template).read_text(encoding='utf-8')})
        state = finished(f"{url}/v1/admin/stacks/first/{made['stack']['id']}", began + PATIENCE)
        measured |= {'complete': round(time.monotonic() - began, 1), 'status': state}
    finally:
        program.terminate()
        code = program.wait(PATIENCE)
    print(json.dumps(measured | {'exit_code': code}))
    return 0 if (state, code) == ('CREATE_COMPLETE', 0) else 1


def finished(url: str, deadline: float) -> str:
    """The status of the stack once it is not IN_PROGRESS any more, or at `deadline`."""
    while True:
        found: str = ask(url)['stack']['stack_status']
        if not found.endswith('IN_PROGRESS') or time.monotonic() >= deadline:
            return found
        time.sleep(INTERVAL)


def ask(url: str, body: Any = None) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None,
                                     {'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
