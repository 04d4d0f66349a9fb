"""The engine's end of RPC: receives messages, calls `endpoint.handle(context, message)`, returns answers or errors.

Answers are sent as `{'answer': ...}`, errors as `{'error': ...}` (heatlite.rpc.errors): for the messaging library an
error of a handler is an ordinary answer, since it would otherwise send the traceback along. `'elsewhere': True` beside
an error: this engine cannot reach the database, has too many requests of the project, or is of an older release than
the caller, and has stored nothing; the call may be sent to another engine.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypedDict

from heatlite.common import (
    allowance,
    commits,
    defects,
    document_size,
    exception,
    frame_space,
    limits,
    log_throttle,
    messaging,
    metrics,
    outages,
    retries,
    runtime,
    tracing,
    turns,
)
from heatlite.common.api_call import ApiCall
from heatlite.common.context import RequestContext, note
from heatlite.common.i18n import _
from heatlite.common.tracing import SpanKind
from heatlite.rpc import errors, messages
from heatlite.rpc.slots import Slots

if TYPE_CHECKING:
    import oslo_messaging

LOG = logging.getLogger(__name__)

ANSWER = limits.Limits(max_expansion=limits.MOST_ANSWERED)

MESSAGES: dict[str, type[messages.Message]] = {
    found.method(): found
    for found in vars(messages).values()
    if isinstance(found, type) and issubclass(found, messages.Message) and found is not messages.Message}


SUBJECT = {'stack_id': 'stack_id', 'stack_name': 'stack_name', 'plan_id': 'plan_id', 'resource_name': 'resource'}

Check = Callable[[], Callable[[], bool]]
"""Raises DatabaseUnavailable while this engine should answer no calls. Returns a function that says whether the engine
has counted as ended since."""

ELSEWHERE = (exception.DatabaseUnavailable, exception.EngineIsFull, exception.EngineTooOld)

WAKE = messages.Wake.method()           # has no span: engines send it to each other all the time


class WireAnswer(TypedDict, total=False):
    """What an engine sends back."""

    answer: object
    error: exception.WireError         # instead of an answer
    elsewhere: bool                 # beside an error: this engine has stored nothing, ask another one


class RequestHandler(Protocol):
    """The engine's interface for RPC. `handle` returns plain JSON values, or raises."""

    def handle(self, context: RequestContext, message: messages.Message) -> object: ...


def _never() -> bool:
    return False


def answer(endpoint: RequestHandler, context: messages.SentContext, method: str, arguments: Mapping[str, object],
           check: Check = lambda: _never, slots: Slots | None = None) -> WireAnswer:
    """Handle one message, from its encoded form to that of its answer. Never raises an Exception.

    `check`: see `Check`; `slots`: shared by all messages;
    without them there is no limit of messages that are answered at once.
    """
    request = RequestContext.from_dict(dict(context))
    tracer = tracing.tracer
    if tracer is None or method == WAKE:
        return _answer(endpoint, request, context, method, arguments, check, slots)
    with tracer.span(method, SpanKind.SERVER, tracing.parsed(context.get(messages.TRACE))) as span:
        request.trace = span.context
        span.note(rpc__method=method, openstack__request_id=request.request_id,
                  openstack__global_request_id=request.global_request_id, openstack__project_id=request.project_id)
        found = _answer(endpoint, request, context, method, arguments, check, slots)
        if 'error' in found:
            span.error = found['error']['name']         # its text may quote hidden values
            span.note(error__type=span.error)
    return found


def _answer(endpoint: RequestHandler, request: RequestContext, context: messages.SentContext, method: str,
            arguments: Mapping[str, object], check: Check, slots: Slots | None) -> WireAnswer:
    here = runtime.current()
    request.stack_project_id = context.get(messages.STACK_PROJECT)
    request.drops_answer = context.get(messages.DROPS_ANSWER, False)
    if method == WAKE:
        turns.forget()
    else:
        turns.begin(request.share)
    before = commits.begun()
    try:
        if context.get(messages.DEADLINE):
            request.deadline = datetime.fromisoformat(context[messages.DEADLINE])
            request.check_in_time(here.now())
        is_repeated = messages.IS_REPEATED in arguments
        if is_repeated:
            arguments = {name: value for name, value in arguments.items() if name != messages.IS_REPEATED}
        wanted = MESSAGES.get(method)
        if wanted is None:
            raise exception.EngineTooOld(what=method)
        if wanted is not messages.Wake:     # a cast is not sent again
            if unknown := wanted.unknown(arguments):
                raise exception.EngineTooOld(what=', '.join(f'{method}.{name}' for name in unknown))
            has_lapsed = check()
            if messages.CALL in context:
                request.call = ApiCall.received(context[messages.CALL], is_repeated, has_lapsed)
        with (metrics.rpc_seconds.labels(method).time(), metrics.rpc_running.track_inprogress(),
              _in_time(request, here, wanted.reads, slots)):
            message = wanted.from_arguments(arguments)
            _note_subject(message)
            answer = endpoint.handle(request, message)
            _check_size(answer)
            return {'answer': answer}
    except Exception as error:
        _record(error, method, request)
        found: WireAnswer = {'error': errors.to_wire(error)}
        if isinstance(error, ELSEWHERE) and commits.begun() == before:
            found['elsewhere'] = True
        return found


@contextmanager
def _in_time(request: RequestContext, here: runtime.Runtime, reads: bool, slots: Slots | None) -> Iterator[None]:
    """Hold a slot, and ends the request when its caller has given up: a read at any moment, others until they begin to
    store. Those that compute find out at their turns, and where they are accepted. Raises TooLate."""
    if request.deadline is None:            # a cast: nothing waits for it, and it takes a moment
        yield
        return

    def left() -> float:
        assert request.deadline is not None
        return (request.deadline - here.now()).total_seconds()

    with ExitStack() as held:
        if slots is not None:
            held.enter_context(slots.taken(request, left()))
            request.check_in_time(here.now())
        held.enter_context(allowance.limited(here, left(), reads))
        if reads:
            held.enter_context(turns.checked(lambda: request.check_in_time(here.now())))
        yield


def _note_subject(message: messages.Message) -> None:
    """Log lines of this thread say what the message is about. The API has looked it up."""
    for field, name in SUBJECT.items():
        value = getattr(message, field, None)
        if value and isinstance(value, str):
            note(**{name: value})


def _check_size(value: object) -> None:
    """Raise RequestLimitExceeded if an answer is too large to be sent.

    An answer may refer to one large text many times; it is small in memory, but encoded once for each reference.
    """
    try:
        document_size.measure(value, ANSWER)
    except exception.RequestLimitExceeded:
        raise exception.RequestLimitExceeded(
            _('The answer would have more than %d characters.') % (16 * limits.MOST_ANSWERED)) from None


def _record(error: Exception, method: str, request: RequestContext) -> None:
    """Logs client errors and temporary failures in one line, our own defects with their traceback."""
    status = error.http_code if isinstance(error, exception.HeatException) else 500
    if status < 500:
        LOG.info('%s refused: %s: %s', method, type(error).__name__, error, extra={'context': request})
    elif status == 503:
        if isinstance(error, exception.DatabaseUnavailable):
            outages.away(outages.DATABASE, error)
        log_throttle.log(LOG, logging.INFO, type(error).__name__, '%s not done: %s: %s', method, type(error).__name__,
                         error, extra={'context': request})
    else:
        LOG.error('%s failed: %s: %s', method, type(error).__name__, error, extra={'context': request},
                  exc_info=error if defects.is_news(error) else None)


class _Methods:
    """The endpoint as the messaging library needs it: one public method for each message."""

    def __init__(self, endpoint: RequestHandler, check: Check, slots: Slots) -> None:
        self._endpoint = endpoint
        self._check = check
        self._slots = slots
        for method in MESSAGES:
            setattr(self, method, functools.partial(self._answer, method))

    def __getattr__(self, method: str) -> Callable[..., WireAnswer]:
        """The method of a message of a newer release. Without one the library would answer with an error of its own."""
        if method.startswith(('_', 'oslo_')) or method == 'target':        # attributes that the library looks for
            raise AttributeError(method)
        return functools.partial(self._answer, method)

    def _answer(self, method: str, context: messages.SentContext, **arguments: object) -> WireAnswer:
        return frame_space.with_room(answer, self._endpoint, context, method, arguments, self._check, self._slots)


class MessageServer:
    """Listens for messages to any engine and for those to `engine_id`."""

    def __init__(self, transport: oslo_messaging.RPCTransport, engine_id: str, endpoint: RequestHandler,
                 check: Check = lambda: _never) -> None:
        """`transport`: heatlite.common.messaging.transport(). Does not connect yet."""
        self._transport = transport
        self._engine_id = engine_id
        self._slots = Slots(runtime.current(), transport.conf.executor_thread_pool_size)
        self._methods = _Methods(endpoint, check, self._slots)
        self.listens = False                    # whether a broker has let this engine in
        self._server = self._make()

    def _make(self) -> oslo_messaging.RPCServer:
        import oslo_messaging
        return oslo_messaging.get_rpc_server(
            self._transport, messaging.target(self._transport.conf, self._engine_id), [self._methods],
            serializer=oslo_messaging.NoOpSerializer(), access_policy=oslo_messaging.DefaultRPCAccessPolicy)

    def start(self) -> None:
        """Connect and listens. Blocks until a broker lets this engine in: run it in a thread of its own."""
        waits: tuple[type[Exception], ...] = (exception.BrokerUnavailable, *messaging.refusals())
        retries.call(self._start, retries.START, waits, before_pause=lambda error, _seconds: outages.away(
            outages.BROKER, error if isinstance(error, exception.BrokerUnavailable) else
            messaging.describe_refusal(self._transport.conf, error)))
        if outages.current:
            outages.back(outages.BROKER)
        LOG.info('Engine %s takes requests', self._engine_id)
        self.listens = True

    def _start(self) -> None:
        messaging.probe(self._transport.conf)   # the library would try for ever, in silence
        try:
            self._server.start()
        except messaging.refusals():
            self._server = self._make()         # the library starts a server once, even if that fails
            raise

    def has_room(self) -> bool:
        """Whether requests get slots: False once the same ones have held all for longer than callers wait."""
        longest: float = self._transport.conf.rpc_response_timeout
        return self._slots.full_seconds() <= longest

    def stop(self) -> None:
        """Stop taking messages, answer those that were taken, and remove the engine's own queue."""
        if not self.listens:               # still waiting for a broker
            return
        self._server.stop()
        self._server.wait()
        for message in messaging.late(self._server):
            self._server._process_incoming([message])
        messaging.remove_queue(self._transport, self._engine_id)
