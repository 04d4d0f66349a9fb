"""The command `openstack stack wait`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import TextIO, TypedDict

from heatclient import exc

from heatlite.osc.output import DocumentCommand
from heatlite.osc.plans import OUTAGES, PATIENCE, Api, is_outage

FAILED, TIMED_OUT = 1, 3                # exit codes; 0: the action is complete
WIDTH = 40                              # characters of a bar
IN_PROGRESS, COMPLETE = 'IN_PROGRESS', 'COMPLETE'


class WaitForStackCommand(DocumentCommand):
    """Wait for the end of what a stack does now, and show how far it has come.

    The exit code is 0 if it is complete, 1 if it failed, and 3 if --timeout was reached first. A service that does not
    answer for a minute is an error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        parser.add_argument('--timeout', type=float, metavar='SECONDS', help='Wait no longer than this')
        parser.add_argument('--interval', type=float, metavar='SECONDS', default=1.0, help='Between two looks (1)')
        parser.add_argument('--quiet', action='store_true', help='Print the end only')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> int:
        api = Api(self.app)
        stack = api.stack(chosen.stack)
        # The program takes --quiet as its own, wherever it stands.
        is_quiet = chosen.quiet or self.app.options.verbose_level == 0
        screen = Screen(None if is_quiet else sys.stderr)
        deadline = None if chosen.timeout is None else time.monotonic() + chosen.timeout
        try:
            return self._wait(chosen, api, stack, screen, deadline)
        except OUTAGES as error:
            if deadline is None or not is_outage(error) or time.monotonic() < deadline:
                raise
            self.print(chosen, {'stack_name': chosen.stack, 'status': None}, [
                f'The service does not say what {chosen.stack} does, after {chosen.timeout:g} s: {error}'])
            return TIMED_OUT

    def _wait(self, chosen: argparse.Namespace, api: Api, stack: str, screen: Screen, deadline: float | None) -> int:
        while True:
            found = progress(api, f'{stack}/progress', deadline)
            if found is None:                       # deleted, and the row is gone
                self.print(chosen, {'stack_name': chosen.stack, 'action': 'DELETE', 'status': COMPLETE},
                           [f'{chosen.stack} is deleted'])
                return 0
            screen.show(list(lines(found)))
            if found['status'] != IN_PROGRESS:
                self.print(chosen, found, [
                    f"{found['stack_name']} {found['action']}_{found['status']}: {found['status_reason']}"])
                return 0 if found['status'] == COMPLETE else FAILED
            if deadline is not None and time.monotonic() >= deadline:
                self.print(chosen, found, [
                    f"{found['stack_name']} is still {found['action']}_{IN_PROGRESS} after {chosen.timeout:g} s"])
                return TIMED_OUT
            time.sleep(chosen.interval)


class ShownLevel(TypedDict):
    """The resources of one level of the tree of stacks."""

    depth: int
    total: int
    complete: int
    in_progress: int
    failed: int


class ShownWaitingResource(TypedDict):
    path: list[str]
    type: str
    action: str
    seconds: float
    reason: str | None


class ShownProgress(TypedDict):
    """How far a stack has come, as the service tells."""

    stack_name: str
    action: str
    status: str
    status_reason: str | None
    levels: list[ShownLevel]
    seconds: float
    seconds_left: float | None
    waiting_for: list[ShownWaitingResource]


def progress(api: Api, path: str, deadline: float | None) -> ShownProgress | None:
    """Return how far the stack has come; None if there is no such stack any more. Waits for a service that does not
    answer, not beyond `deadline`."""
    patience = PATIENCE if deadline is None else min(PATIENCE, max(deadline - time.monotonic(), 0.0))
    try:
        found: ShownProgress = api.get(path, patience)['progress']
    except exc.HTTPNotFound:
        return None
    return found


class Screen:
    """Where progress is drawn: on a terminal over what was there, otherwise a line for each change."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._drawn: list[str] = []

    def show(self, new: list[str]) -> None:
        if self._stream is None or new == self._drawn:
            return
        if self._stream.isatty():
            up = f'\x1b[{len(self._drawn)}A\x1b[J' if self._drawn else ''
            print(up + '\n'.join(new), file=self._stream, flush=True)
        elif new[:1] != self._drawn[:1]:
            print(new[0], file=self._stream, flush=True)
        self._drawn = new


def lines(found: ShownProgress) -> Iterator[str]:
    """Yield the lines of a state of progress: all in one, each level, what holds it up."""
    complete = sum(level['complete'] for level in found['levels'])
    total = sum(level['total'] for level in found['levels'])
    yield f"{found['stack_name']} {found['action']}_{found['status']}: {complete} of {total} resources"
    for level in found['levels']:
        name = 'stack' if level['depth'] == 0 else f"level {level['depth']}"
        failed = f", {level['failed']} failed" if level['failed'] else ''
        yield f"  {name:8} [{bar(level)}] {level['complete']}/{level['total']}{failed}"
    if found['status'] == IN_PROGRESS:
        left = '' if found['seconds_left'] is None else f", about {found['seconds_left']} s left"
        yield f"  since {found['seconds']} s{left}"
        for each in found['waiting_for'][:1]:
            yield (f"  waits for {'/'.join(each['path'])} ({each['type']}) {each['action']} for {each['seconds']} s"
                   + (f": {each['reason']}" if each['reason'] else ''))


def bar(level: ShownLevel) -> str:
    """Return a bar of WIDTH characters: '#' complete, '>' in progress, '!' failed, '.' waiting."""
    total = max(level['total'], 1)
    drawn, done = '', 0
    for count, mark in ((level['complete'], '#'), (level['in_progress'], '>'), (level['failed'], '!')):
        done += count
        drawn = drawn.ljust(done * WIDTH // total, mark)
    return drawn.ljust(WIDTH, '.')
