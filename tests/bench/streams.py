"""Streams of events with many idle listeners: `python -m tests.bench.streams [COUNT]`.

Prints the memory of the process for each listener, its CPU time while nothing happens, and how long one event takes
from its commit to the first and the last listener. The process is a heatlite-all on loopback.
"""

from __future__ import annotations

import resource
import selectors
import socket
import sys
import tempfile
import time
from pathlib import Path

import psutil

from heatlite.api.event_hub import SHARE
from tests.system import wire
from tests.system.processes import Program

REQUEST = wire.request('GET', '/v1/admin/events/stream', Accept='text/event-stream')
STACK = (b'{"stack_name": "bench", "template": {"heat_template_version": "2021-04-16", "resources": '
         b'{"value": {"type": "OS::Heat::Value", '
         b'"properties": {"value": "x"}}}}}')
IDLE = 20.0                             # seconds


def main(count: int) -> None:
    most = count + 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, max(most, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory() as folder:
        settings = [f'{name}={SHARE * (count + 100)}' for name in (
            'heat_api.max_connections', 'heat_api.max_connections_per_peer', 'event_streams.listeners',
            'event_streams.listeners_per_project')]
        program = Program(Path(folder) / 'log', '--state-dir', Path(folder) / 'state', '--port', '0',
                          *(word for each in settings for word in ('--set', each)), module='heatlite.cmd.all_in_one')
        try:
            measure(program, int(program.process.stdout.readline().rsplit(':', 1)[1]), count)
        finally:
            program.kill()


def measure(program: Program, port: int, count: int) -> None:
    process = psutil.Process(program.process.pid)
    create(port, b'warm')
    time.sleep(3.0)
    before = process.memory_info().rss
    peers = [connect(port, number) for number in range(count)]
    time.sleep(3.0)
    after = process.memory_info().rss
    print(f'{count} listeners: {(after - before) / count / 1024:.1f} KiB each, {after / 2 ** 20:.0f} MiB in all')
    used = sum(process.cpu_times()[:2])
    time.sleep(IDLE)
    print(f'idle: {(sum(process.cpu_times()[:2]) - used) / IDLE * 100:.1f} % of a core, heartbeats included')
    times = []
    for peer in peers:
        peer.setblocking(False)
        drain(peer)
    began = time.monotonic()
    create(port, b'heard')
    accepted = time.monotonic() - began
    with selectors.DefaultSelector() as ready:
        for peer in peers:
            ready.register(peer, selectors.EVENT_READ)
        while len(times) < count:
            for key, _events in ready.select(30):
                if b'data:' in key.fileobj.recv(65536):     # type: ignore[union-attr]
                    times.append(time.monotonic() - began)
                    ready.unregister(key.fileobj)
    print(f'the first event of a new stack ({accepted:.2f} s for the request): heard first after {times[0]:.2f} s, '
          f'last after {times[-1]:.2f} s')
    for peer in peers:
        peer.close()


def connect(port: int, number: int) -> socket.socket:
    if number % 100 == 99:
        time.sleep(0.05)                # the machine's own queue of new connections is short
    peer = wire.connect(port, 60)
    peer.sendall(REQUEST)
    assert b' 200 ' in peer.recv(4096)
    return peer


def drain(peer: socket.socket) -> None:
    try:
        while peer.recv(65536):
            pass
    except BlockingIOError:
        pass


def create(port: int, name: bytes) -> None:
    status, _headers, body = wire.send(port, wire.request(
        'POST', '/v1/admin/stacks', STACK.replace(b'bench', name), Content_Type='application/json'), 60)
    assert status == 201, body


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
