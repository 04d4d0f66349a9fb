"""Traces: which parts of the service, and which calls to clouds, worked for one request, and for how long.

A span is one part of the work; its context (W3C Trace Context) goes with messages, is stored with the request of a
stack, and is sent to other services. The ids of actions and steps are computed from what is stored, so that an engine
that takes a stack over continues the spans which the former one had begun.

`tracer` is None while traces are off, which is the default: callers check it first, and nothing else of this module
runs. Nothing of OpenTelemetry is imported then; `heatlite.common.trace_export` is its only importer.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING

from oslo_context import context as contexts

if TYPE_CHECKING:
    from oslo_config import cfg

PARENT, STATE = 'traceparent', 'tracestate'         # names of the headers, and of keys in messages and rows
LONGEST_STATE = 512             # characters of a tracestate that are passed on (W3C: at least 512)
MOST_ENTRIES = 32               # of a tracestate (W3C)
LONGEST = 512                   # characters of an attribute
EPOCH = datetime(1970, 1, 1)

_PARENT = re.compile(r'(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})'
                     r'(?P<rest>-.{0,200})?', re.ASCII)
_ENTRY = re.compile(r'[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]',
                    re.ASCII)

Value = str | int | float | bool


class SpanKind(Enum):
    """The kind of a span, as OpenTelemetry names it."""

    INTERNAL = 'INTERNAL'
    SERVER = 'SERVER'           # answers a request of another process
    CLIENT = 'CLIENT'           # waits for the answer of another process


@dataclass(frozen=True, slots=True)
class SpanContext:
    """What identifies a span to other processes. `trace_id`, `span_id`: 32 and 16 hexadecimal digits.

    `is_sampled`: whether the spans of the trace are sent; `state`: a tracestate, as the caller sent it.
    """

    trace_id: str
    span_id: str
    is_sampled: bool
    state: str = ''

    def headers(self) -> dict[str, str]:
        """Return the context as headers of HTTP requests."""
        found = {PARENT: f'00-{self.trace_id}-{self.span_id}-{"01" if self.is_sampled else "00"}'}
        if self.state:
            found[STATE] = self.state
        return found


@dataclass(slots=True)
class Span:
    """A span, from its begin to its end. Times: nanoseconds since 1970. `error`: why it failed; None: it did not."""

    name: str
    kind: SpanKind
    context: SpanContext
    parent: SpanContext | None
    began: int
    attributes: dict[str, Value] = field(default_factory=dict)
    ended: int = 0
    error: str | None = None

    def note(self, **attributes: Value | None) -> None:
        """Add attributes, whose names have double underscores for dots. None: not added."""
        for name, value in attributes.items():
            if value is not None:
                self.attributes[name.replace('__', '.')] = value[:LONGEST] if isinstance(value, str) else value


class Tracer:
    """Begins and ends spans, and gives sampled ones to `export` once they have ended."""

    def __init__(self, export: Callable[[Span], None], ratio: float = 1.0, continues_callers: bool = True) -> None:
        """`ratio`: share of the traces begun here that are sampled; `continues_callers`: whether the context of a
        request from outside is continued."""
        self._export = export
        self._bound = int(ratio * (1 << 64))
        self.continues_callers = continues_callers

    def root(self, trace_id: str | None = None, span_id: str = '') -> SpanContext:
        """Return the context of the first span of a trace, sampled by the trace's id (a new one by default)."""
        trace_id = trace_id or os.urandom(16).hex()
        return SpanContext(trace_id, span_id or os.urandom(8).hex(), int(trace_id[16:], 16) < self._bound)

    def begin(self, name: str, kind: SpanKind, parent: SpanContext | None, context: SpanContext | None = None) -> Span:
        """Begin a span: of `context`, else of a new one below `parent`, else of a new trace."""
        if context is None:
            context = self.root() if parent is None else SpanContext(
                parent.trace_id, os.urandom(8).hex(), parent.is_sampled, parent.state)
        return Span(name, kind, context, parent, time.time_ns())

    def end(self, span: Span) -> None:
        """End a span. Never raises, never blocks."""
        if not span.ended:
            span.ended = time.time_ns()
            if span.context.is_sampled:
                self._export(span)

    @contextmanager
    def span(self, name: str, kind: SpanKind, parent: SpanContext | None) -> Iterator[Span]:
        """Yield a span that is the current one in this block. An error that leaves the block is noted by its class
        only: its text may quote hidden values."""
        found = self.begin(name, kind, parent)
        try:
            with within(found.context):
                yield found
        except BaseException as error:
            found.error = found.error or type(error).__name__
            raise
        finally:
            self.end(found)


tracer: Tracer | None = None
_current: ContextVar[SpanContext | None] = ContextVar('span', default=None)
_mask: ContextVar[Callable[[str], str] | None] = ContextVar('mask of spans', default=None)
_stop: Callable[[], None] | None = None


def start(conf: cfg.ConfigOpts, service: str) -> None:
    """Begin to send traces to [traces] endpoint, if that is set. `service`: this part, such as "engine".

    Raises Error when the extra "traces" is not installed.
    """
    global tracer, _stop
    if not conf.traces.endpoint:
        return
    from heatlite.common import trace_export  # it imports OpenTelemetry
    exporter = trace_export.Exporter.of(conf, service)
    _stop = exporter.stop
    tracer = Tracer(exporter, conf.traces.sample_ratio, conf.traces.continue_callers)


def stop() -> None:
    """Send what is left, for some seconds at most, and send nothing from then on."""
    global tracer, _stop
    tracer, last, _stop = None, _stop, None
    if last is not None:
        last()


# --- the current span ---------------------------------------------------------------------------------------

def current() -> SpanContext | None:
    """Return the context of the span in which this thread works, else that of the request it is bound to, if any."""
    return _current.get() or getattr(contexts.get_current(), 'trace', None)


@contextmanager
def within(context: SpanContext | None, mask: Callable[[str], str] | None = None) -> Iterator[None]:
    """Make `context` the current span in this block. `mask(text)`: the text without hidden values of its stack."""
    token, masked = _current.set(context), _mask.set(mask or _mask.get())
    try:
        yield
    finally:
        _mask.reset(masked)
        _current.reset(token)


def mask() -> Callable[[str], str] | None:
    """Return the function that masks hidden values of the stack for which this thread works; None: of no certain
    one."""
    return _mask.get()


def headers() -> dict[str, str]:
    """Return the current span as headers of a request to another service; none without a span, or while traces are
    off."""
    if tracer is None:
        return {}
    found = current()
    return {} if found is None else found.headers()


# --- contexts from outside, and from rows -------------------------------------------------------------------

def parsed(given: Mapping[str, object] | None) -> SpanContext | None:
    """Return the context in the headers of a caller, in a message or in a row; None if there is no valid one.

    Source: W3C Trace Context, "Processing Model". A wrong tracestate is left out, a wrong traceparent ignored.
    """
    text = (given or {}).get(PARENT)
    found = _PARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None or found['version'] == 'ff' or (found['version'] == '00' and found['rest']):
        return None
    if not int(found['trace'], 16) or not int(found['span'], 16):
        return None
    state = (given or {}).get(STATE)
    return SpanContext(found['trace'], found['span'], bool(int(found['flags'], 16) & 1),
                       state if isinstance(state, str) and _is_state(state) else '')


def _is_state(text: str) -> bool:
    if len(text) > LONGEST_STATE:
        return False
    entries = [entry.strip(' \t') for entry in text.split(',')]
    return len(entries) <= MOST_ENTRIES and all(not entry or _ENTRY.fullmatch(entry) for entry in entries)


def derived(parent: SpanContext | None, *parts: object) -> SpanContext | None:
    """Return the context of the span that `parts` identify below `parent`: the same in each process.

    Without a parent it is the first span of a trace, whose id follows from `parts`, too. None while traces are off.
    """
    if tracer is None:
        return None
    digest = hashlib.sha256('\0'.join(
        [parent.trace_id + parent.span_id if parent is not None else '', *map(str, parts)]).encode()).hexdigest()
    if parent is None:
        return tracer.root(digest[16:48], digest[:16])
    return SpanContext(parent.trace_id, digest[:16], parent.is_sampled, parent.state)


def nanoseconds(at: datetime) -> int:
    """Return a time in UTC without zone as nanoseconds since 1970."""
    since = at - EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
