"""Errors in RPC: which of them are rebuilt under their name, and which of their fields are sent.

The service's own errors and Python's builtins are rebuilt under their name, so that the API can look up their HTTP
codes; any other error becomes a RemoteError whose message stays in the engine's log. No traceback is sent.
"""

from __future__ import annotations

import builtins
import json

from heatlite.common import exception

_STATE_BYTES = 64 * 1024        # longer states are not sent: they only serve fault documents


def to_wire(error: BaseException) -> exception.WireError:
    """The error as plain JSON, without its traceback."""
    return {'name': _name(error), 'bases': _bases(error), 'message': str(error), 'state': _plain_state(error)}


def from_wire(found: exception.WireError) -> Exception:
    """The error that was sent, or a RemoteError when this side does not know it."""
    name, message = str(found.get('name', '')), str(found.get('message', ''))
    own = next(filter(None, map(_own_class, (name, *found.get('bases', ())))), None)
    if own is not None:
        error = own.__new__(own)
        Exception.__init__(error, message)
        error.__dict__.update({'kwargs': {}, **found.get('state', {}), 'message': message})
        return error
    builtin = getattr(builtins, name, None)
    if isinstance(builtin, type) and issubclass(builtin, Exception):
        try:
            return builtin(message)
        except TypeError:                   # UnicodeDecodeError and similar need more than a text
            return ValueError(message) if issubclass(builtin, ValueError) else exception.RemoteError(type=name)
    return exception.RemoteError(type=name)


def _own_class(name: str) -> type[exception.HeatException] | None:
    found = getattr(exception, name, None)
    return found if isinstance(found, type) and issubclass(found, exception.HeatException) else None


def _bases(error: BaseException) -> list[str]:
    return [known.__name__ for known in type(error).__mro__[1:]
            if _own_class(known.__name__) is known and known is not exception.HeatException]


def _name(error: BaseException) -> str:
    """The class name if the other side may rebuild it; else module and name, for the text of a RemoteError."""
    found = type(error)
    if getattr(builtins, found.__name__, None) is found:
        return str(found.__name__)
    for known in found.__mro__:             # a subclass that the other side does not know is sent as its base class
        if _own_class(known.__name__) is known and known is not exception.HeatException:
            return str(known.__name__)
    return f'{found.__module__}.{found.__qualname__}'


def _plain_state(error: BaseException) -> dict[str, object]:
    state: dict[str, object] = {}
    for name, value in vars(error).items():
        if name.startswith('_') or name == 'message':
            continue
        try:
            if len(json.dumps(value)) <= _STATE_BYTES:
                state[name] = value
        except (TypeError, ValueError):     # an exception, a resource: of no use on the other side
            continue
    return state
