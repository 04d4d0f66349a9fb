"""The neighbour's process: `python -m tests.hostile.neighbour URL [HEADER=VALUE ...]`, a line for each request.

A line is: when it was sent (system's monotonic clock), kind, status, seconds.
"""

from __future__ import annotations

import sys
import threading
import time

from tests.hostile.tenants import Tenant

PAUSE = 0.02            # seconds between two requests of one thread
WRITING = threading.Lock()
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    'a': {'type': 'OS::Heat::Value', 'properties': {'value': 'quiet'}},
    'b': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['a', 'value']}}}},
    'outputs': {'o': {'value': {'get_attr': ['b', 'value']}}}}


def repeat(tenant: Tenant, kind: str, method: str, path: str, body: object = None) -> None:
    while True:
        began = time.monotonic()
        answer = tenant.ask(method, path, body)
        with WRITING:
            print(f'{began:.6f} {kind} {answer.status} {answer.seconds:.6f}', flush=True)
        time.sleep(PAUSE)


def main(url: str, *headers: str) -> None:
    tenant = Tenant(url, dict(header.split('=', 1) for header in headers))
    name = f'neighbour-{int(time.time() * 1000)}'
    answer = tenant.ask('POST', '/stacks', {'stack_name': name, 'template': TEMPLATE})
    assert answer.status == 201, answer
    stack = f"/stacks/{name}/{answer.body['stack']['id']}"
    kinds = (('list', 'GET', '/stacks', None), ('show', 'GET', stack, None),
             ('validate', 'POST', '/validate', {'template': TEMPLATE}))
    threads = [threading.Thread(target=repeat, args=(tenant, *kind), daemon=True) for kind in kinds]
    for thread in threads:
        thread.start()
    threads[0].join()


if __name__ == '__main__':
    main(*sys.argv[1:])
