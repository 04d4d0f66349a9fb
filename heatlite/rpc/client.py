"""The API's end of RPC: `call` sends a message to an engine and waits for its answer, `wake` sends a wake-up.

Messages go through the broker, or to a thread of this process (heatlite-all). Both clients raise what the engine raised
(heatlite.rpc.errors), MessagingTimeout, AnswerLost, NoEngine, or BrokerUnavailable.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from heatlite.common import exception, messaging, metrics, outages, retries, runtime, tracing
from heatlite.common.api_call import REPEATED_AFTER_SECONDS, SentCall
from heatlite.common.context import RequestContext, admin_context
from heatlite.common.runtime import Runtime
from heatlite.rpc import errors, messages
from heatlite.rpc.engine_life import OFFERED_SECONDS, EngineLife
from heatlite.rpc.server import RequestHandler, WireAnswer, answer
from heatlite.rpc.slots import Slots

if TYPE_CHECKING:
    import oslo_messaging
    from oslo_config.cfg import ConfigOpts

LOG = logging.getLogger(__name__)

# After a broken connection one retry uses a fresh one; more would only delay the caller.
RETRIES = 1
# How long a call is sent to other engines while those that receive it stored nothing: they cannot reach the database,
# have too many requests of the project, or are of an older release.
ELSEWHERE_SECONDS = 5.0
# How long the broker may refuse all connections until the calls that wait for an answer end without one.
LOST_SECONDS = 4.0
POLL_SECONDS = 1.0                  # between two polls whether it does


class EngineClient(Protocol):
    def call(self, context: RequestContext, message: messages.Message) -> object:
        """Return an engine's answer to `message`."""

    def wake(self, stack_id: str, engine_id: str | None = None) -> None:
        """Ask one engine, or any, to look at a stack. Never raises: a lost message costs a sweep interval."""


def _opened(found: WireAnswer) -> object:
    """The answer in an envelope; raises the error in it."""
    if 'error' in found:
        raise errors.from_wire(found['error'])
    return found.get('answer')


def _timeout_of(message: messages.Message, longest: float) -> float:
    """Seconds to wait for the answer, at most `longest`."""
    return longest if message.timeout is None else min(message.timeout, longest)


def _sent_context(context: RequestContext, runtime: Runtime, seconds: float,
                  call: SentCall | None = None) -> dict[str, object]:
    """The context as it is sent, with the time at which the caller stops waiting, what it needs, and its span."""
    found = {**context.to_dict(), messages.STACK_PROJECT: context.stack_project_id,
             messages.DROPS_ANSWER: context.drops_answer,
             messages.DEADLINE: (runtime.now() + timedelta(seconds=seconds)).isoformat()}
    if call is not None:
        found[messages.CALL] = call
    if tracing.tracer is not None:
        found[messages.TRACE] = tracing.headers()
    return found


class _Sending:
    """A message on its way, until there is an answer. `call`: None for one that is never sent to two engines."""

    def __init__(self, context: RequestContext, message: messages.Message, runtime: Runtime) -> None:
        self.context = context
        self.message = message
        self._runtime = runtime
        self.call: SentCall | None = None
        self.is_repeated = False                    # another engine may have it
        if message.resent or type(message) in messages.REPEATED:
            self.call = {'id': runtime.uuid(), 'sent_at': runtime.now().isoformat()}

    def sent_context(self, seconds: float) -> dict[str, object]:
        return _sent_context(self.context, self._runtime, seconds, self.call)

    def arguments(self) -> dict[str, object]:
        sent = self.message.sent()
        return {**sent, messages.IS_REPEATED: True} if self.is_repeated else sent


class _Elsewhere(Exception):
    """An engine answered that another one should be asked. `found`: its answer."""

    def __init__(self, found: WireAnswer) -> None:
        super().__init__()
        self.found = found

    @property
    def is_of_old_engine(self) -> bool:
        return self.found.get('error', {}).get('name') == exception.EngineTooOld.__name__


class _Watch:
    """Whether the broker is gone, for all calls that wait for an answer. It is probed once for all of them."""

    def __init__(self, probe: Callable[[], None]) -> None:
        """`probe()`: raises BrokerUnavailable when the broker accepts no connection."""
        self._probe = probe
        self._polled_at = -POLL_SECONDS
        self._since: float | None = None            # since when every poll has failed

    def is_gone(self) -> bool:
        """Whether every poll has failed for LOST_SECONDS."""
        now = runtime.current().monotonic()
        if now - self._polled_at >= POLL_SECONDS:
            if now - self._polled_at > LOST_SECONDS:   # no call has waited meanwhile
                self._since = None
            self._polled_at = now
            try:
                self._probe()
                self._since = None
            except exception.BrokerUnavailable:
                self._since = now if self._since is None else self._since
        return self._since is not None and now - self._since >= LOST_SECONDS


class BrokerClient:
    """Sends messages over the message broker."""

    def __init__(self, conf: ConfigOpts, transport: oslo_messaging.RPCTransport,
                 read_timeout: float = messages.READ_TIMEOUT, url: str | None = None,
                 topic: str | None = None, engines: EngineLife | None = None) -> None:
        """`transport`: of heatlite.common.messaging.transport(), for the same `url`. `topic`: of the engines.
        `engines`: None where nothing is known of them.

        `read_timeout`: seconds after which a message that is `resent` is sent again, within [DEFAULT]
        rpc_response_timeout.
        """
        import oslo_messaging
        from kombu.exceptions import KombuError
        self._conf = conf
        self._url = url
        self._read_timeout = read_timeout
        self._engines = engines
        self._errors = oslo_messaging
        self._broken = KombuError               # raised by the library below while it connects
        self._refusals = messaging.refusals()
        self._transport = transport
        self._client = oslo_messaging.get_rpc_client(
            self._transport, messaging.target(conf, topic=topic), serializer=oslo_messaging.NoOpSerializer(),
            retry=RETRIES,
            # The broker returns messages that match no queue; without this they would be lost, and the caller would
            # time out.
            transport_options=oslo_messaging.TransportOptions(at_least_once=True))
        self._connected = False
        self._watch = _Watch(self.probe)

    def probe(self) -> None:
        """Raise BrokerUnavailable when the broker accepts no connection."""
        messaging.probe(self._conf, self._url)

    def check(self) -> None:
        """Raise BrokerUnavailable when the broker accepts no connection, or refuses the login. Logs in if the last
        message found no way, or none was sent yet, unless there is a connection already."""
        self._probe()
        if self._connected:
            return
        try:
            messaging.login(self._transport, self._url)
        except self._refusals as error:
            raise self._refused(error) from None
        except (self._errors.MessageDeliveryFailure, self._broken, OSError) as error:
            outages.away(outages.BROKER, error)
            raise exception.BrokerUnavailable(reason=str(error)) from None
        self._reached()

    def _probe(self) -> None:
        """As `probe`, before a message is sent."""
        try:
            self.probe()
        except exception.BrokerUnavailable as error:
            outages.away(outages.BROKER, error)
            raise

    def call(self, context: RequestContext, message: messages.Message) -> object:
        with metrics.rpc_waiting.track_inprogress():
            return _opened(self._send(context, message))

    def _send(self, context: RequestContext, message: messages.Message) -> WireAnswer:
        library = self._errors
        if not self._connected:
            self._probe()
        # The first engine may be starting. One that receives the message later drops it: its deadline has passed.
        longest = self._conf.rpc_response_timeout
        any_lives = self._engines is None or self._engines.any_lives()
        seconds = _timeout_of(message, longest if any_lives else min(longest, OFFERED_SECONDS))
        try:
            found = self._insist(_Sending(context, message, runtime.current()), seconds)
        except library.MessagingTimeout:
            raise exception.MessagingTimeout(seconds=seconds) from None
        except exception.AnswerLost as error:
            self._connected = False
            outages.away(outages.BROKER, error)
            raise
        except self._refusals as error:
            raise self._refused(error) from None
        except (library.MessageDeliveryFailure, self._broken, OSError) as error:
            self._connected = False
            outages.away(outages.BROKER, error)
            raise exception.BrokerUnavailable(reason=str(error)) from None
        self._reached()
        return found

    def _refused(self, error: Exception) -> exception.BrokerUnavailable:
        """Records that the broker refuses the login of this process; returns the error for the caller."""
        self._connected = False
        reason = messaging.describe_refusal(self._conf, error, self._url)
        outages.away(outages.BROKER, reason)
        return exception.BrokerUnavailable(reason=reason)

    def _reached(self) -> None:
        self._connected = True
        if outages.current:
            outages.back(outages.BROKER)

    def _insist(self, sending: _Sending, seconds: float) -> WireAnswer:
        """The answer within `seconds`, of another engine if the first one cannot give any (heatlite.rpc.server)."""
        here = runtime.current()
        began = here.monotonic()
        until = began + min(ELSEWHERE_SECONDS, seconds / 2)

        def ask() -> WireAnswer:
            found = self._await(sending, began + seconds - here.monotonic())
            if found.get('elsewhere'):
                raise _Elsewhere(found)
            return found

        def gives_up(refusal: _Elsewhere) -> bool:
            # All engines may be old for as long as an upgrade takes: each show of a resource would wait so long.
            return here.monotonic() > until or (sending.message.is_optional and refusal.is_of_old_engine)

        try:
            return retries.call(ask, retries.ENGINE, _Elsewhere, gives_up=gives_up)
        except _Elsewhere as refusal:
            return refusal.found

    def _await(self, sending: _Sending, seconds: float) -> WireAnswer:
        """The answer within `seconds`; a message that is `resent` goes to a second engine if the first may have died
        with the request. The second one gets all the time that is left: the first may also have been too slow."""
        here = runtime.current()
        end = here.monotonic() + seconds
        if seconds > self._read_timeout and sending.message.resent:
            with suppress(self._errors.MessagingTimeout):
                return self._offer(sending, self._read_timeout)
        return self._offer(sending, end - here.monotonic())

    def _offer(self, sending: _Sending, seconds: float) -> WireAnswer:
        """Send the message, perhaps to a second engine (`_second`). One that receives it after `seconds` drops it."""
        here, method = runtime.current(), sending.message.method()
        client, who = self._client.prepare(timeout=seconds), sending.sent_context(seconds)
        until, end = here.monotonic() + min(OFFERED_SECONDS, seconds), here.monotonic() + seconds
        try:
            return retries.call(
                lambda: self._answered(sending, lambda: client.call(who, method, **sending.arguments()), end),
                retries.ENGINE, self._errors.MessageUndeliverable, gives_up=lambda _error: here.monotonic() >= until)
        except self._errors.MessageUndeliverable:
            raise exception.NoEngine() from None
        except self._errors.RemoteError as error:
            if error.exc_type != 'NoSuchMethod':
                raise
            # Of an engine from before the first release; others answer this themselves (heatlite.rpc.server).
            return {'error': errors.to_wire(exception.EngineTooOld(what=method)), 'elsewhere': True}

    def _answered(self, sending: _Sending, call: Callable[[], WireAnswer], end: float) -> WireAnswer:
        """Return `call()`, or the answer of a second engine. Raises AnswerLost once the broker is gone, and
        MessagingTimeout at the time `end`.

        The library would wait until its time-out for an answer that finds no way, and for a broker that accepts
        connections and says nothing for much longer. What it sends then comes too late for any engine. A server with
        threads of the system has to wait for that: nothing else runs in a thread that waits."""
        if not runtime.is_cooperative():
            return call()
        here = runtime.current()
        began = here.monotonic()
        done = here.flag()
        outcome: list[WireAnswer | Exception] = []

        def work() -> None:
            try:
                outcome.append(call())
            except Exception as error:
                outcome.append(error)
            done.set()

        def repeat(engine_id: str) -> None:
            try:
                outcome.append(self._repeated(sending, engine_id, end))
                done.set()
            except Exception as error:              # the first engine may answer yet
                LOG.debug('The second engine does not answer: %s', error)

        here.spawn(work)
        while not done.wait(POLL_SECONDS):
            if self._watch.is_gone():
                raise exception.AnswerLost()
            if here.monotonic() > end + POLL_SECONDS:   # the library's own time-out comes first where it has one
                raise self._errors.MessagingTimeout()
            second = self._second(sending) if here.monotonic() - began >= REPEATED_AFTER_SECONDS else None
            if second is not None:
                sending.is_repeated = True
                here.spawn(repeat, second)
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def _second(self, sending: _Sending) -> str | None:
        """Return the id of an engine to which a message is to be sent, too: once, if one has ended that may have it."""
        if sending.call is None or sending.is_repeated or self._engines is None:
            return None
        living = self._engines.substitutes()
        return living[int(runtime.current().random() * len(living))] if living else None

    def _repeated(self, sending: _Sending, engine_id: str, end: float) -> WireAnswer:
        """Return the answer of a second engine. Raises what the library raises, and _Elsewhere."""
        message, seconds = sending.message, max(end - runtime.current().monotonic(), 0.1)
        LOG.info('An engine has ended; %s is sent to engine %s, too', message.method(), engine_id,
                 extra={'context': sending.context})
        found: WireAnswer = self._client.prepare(server=engine_id, timeout=seconds).call(
            sending.sent_context(seconds), message.method(), **sending.arguments())
        if found.get('elsewhere'):
            raise _Elsewhere(found)
        return found

    def wake(self, stack_id: str, engine_id: str | None = None) -> None:
        message = messages.Wake(stack_id)
        library = self._errors
        try:
            if not self._connected:
                self.probe()
            target = self._client.prepare(server=engine_id) if engine_id else self._client
            target.cast(admin_context().to_dict(), message.method(), **message.sent())
        except self._refusals as error:
            self._refused(error)
            LOG.debug('No engine was woken for stack %s', stack_id)
        except (exception.BrokerUnavailable, library.MessagingException, library.MessageUndeliverable, self._broken,
                OSError) as error:
            self._connected = False
            outages.away(outages.BROKER, error)
            LOG.debug('No engine was woken for stack %s', stack_id)
        else:
            self._reached()


class InProcessClient:
    """Calls the engine in this process. Messages and answers are encoded as JSON, so that both clients behave alike."""

    def __init__(self, runtime: Runtime, endpoint: RequestHandler, timeout: float = 60.0) -> None:
        """`timeout`: seconds to wait for an answer."""
        self._runtime = runtime
        self._endpoint = endpoint
        self._timeout = timeout
        # Requests wait in threads of their own, whose number the server of the API bounds.
        self._slots = Slots(runtime, messaging.THREADS, messaging.THREADS)

    def call(self, context: RequestContext, message: messages.Message) -> object:
        seconds = _timeout_of(message, self._timeout)
        request = json.dumps([_sent_context(context, self._runtime, seconds), message.method(), message.sent()])
        done = self._runtime.flag()
        found: list[str] = []

        def work() -> None:
            try:
                who, method, arguments = json.loads(request)
                found.append(json.dumps(answer(self._endpoint, who, method, arguments, slots=self._slots)))
            except (TypeError, ValueError) as error:
                LOG.exception('The answer to %s is not JSON', message.method())
                found.append(json.dumps({'error': errors.to_wire(error)}))
            done.set()

        self._runtime.spawn(work)
        with metrics.rpc_waiting.track_inprogress():
            is_done = done.wait(seconds)
        if not is_done or not found:
            raise exception.MessagingTimeout(seconds=seconds)
        return _opened(json.loads(found[0]))

    def wake(self, stack_id: str, engine_id: str | None = None) -> None:
        message = messages.Wake(stack_id)
        self._runtime.spawn(answer, self._endpoint, admin_context().to_dict(), message.method(), message.sent())
