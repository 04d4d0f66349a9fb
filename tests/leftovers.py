"""What tests change in the process they share: noted before, put back or complained of afterwards.

Which files share a process, and in which order, differs from run to run. What one leaves behind therefore fails
another one only now and then, far away from its cause."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

from oslo_config import cfg
from oslo_context import context

from heatlite.common import runtime

NOTHING = object()
KINDS = ('override', 'default')                 # of an option's value, as oslo.config keeps them


@contextlib.contextmanager
def options_put_back(conf: cfg.ConfigOpts = cfg.CONF) -> Iterator[None]:
    """Overrides and defaults of all options are afterwards what they were before.

    An option that was registered meanwhile stays, since the module that did it will not do it again. If it is a
    required one, like those of a login, its value may be missing from now on: others read all options again."""
    before = {place(info, group): {kind: info[kind] for kind in KINDS if kind in info}
              for info, group in conf._all_opt_infos() if KINDS[0] in info or KINDS[1] in info}
    known = {id(info) for info, _group in conf._all_opt_infos() if info['opt'].required}
    try:
        yield
    finally:
        for info, group in list(conf._all_opt_infos()):
            put_back(conf, info, group, before.get(place(info, group), {}))
            if info['opt'].required and id(info) not in known:
                conf.set_default(info['opt'].dest, None, group=group)


def place(info: dict[str, Any], group: cfg.OptGroup | None) -> tuple[str | None, str]:
    return group.name if group else None, info['opt'].dest


def put_back(conf: cfg.ConfigOpts, info: dict[str, Any], group: cfg.OptGroup | None, before: dict[str, Any]) -> None:
    for kind in KINDS:
        if info.get(kind, NOTHING) is before.get(kind, NOTHING):
            continue
        if kind in before:
            getattr(conf, f'set_{kind}')(info['opt'].dest, before[kind], group=group)
        else:
            getattr(conf, f'clear_{kind}')(info['opt'].dest, group=group)


@contextlib.contextmanager
def context_put_back() -> Iterator[None]:
    """The context of the thread is afterwards what it was before: each new one becomes it."""
    before = context.get_current()
    try:
        yield
    finally:
        if before is not None:
            before.update_store()
        else:
            context._request_store.__dict__.pop('context', None)        # as in its own fixture


@contextlib.contextmanager
def hook_put_back() -> Iterator[None]:
    """The hook of uncaught errors is afterwards what it was before: setting up logs replaces it."""
    before = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = before


@contextlib.contextmanager
def all_put_back() -> Iterator[None]:
    with options_put_back(), context_put_back(), hook_put_back():
        yield


# What is compared, not put back: a test that leaves one of these behind fails itself.
STATE = {
    'a runtime': runtime.current,
    'variables of the environment': lambda: {name: value for name, value in os.environ.items()
                                             if name != 'PYTEST_CURRENT_TEST'},
    'another working directory': os.getcwd,
    'folders on the path of modules': lambda: list(sys.path),
    'a time-out of sockets': socket.getdefaulttimeout,
    'handlers of signals': lambda: {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)},
    'a limit of recursion': sys.getrecursionlimit,
    'a level of disabled logs': lambda: logging.root.manager.disable,
}


def noted() -> dict[str, Any]:
    return {name: read() for name, read in STATE.items()}


def left_behind(before: dict[str, Any]) -> list[str]:
    """What is different now, as sentences."""
    return [f'{name}: {changed(before[name], value)}' for name, value in noted().items() if value != before[name]]


def changed(before: Any, after: Any) -> Any:
    """Of a map only the names that differ: values of the environment may be secret."""
    if not isinstance(before, dict):
        return f'{before} -> {after}'
    return sorted(str(key) for key in before.keys() | after.keys()
                  if before.get(key, NOTHING) != after.get(key, NOTHING))
