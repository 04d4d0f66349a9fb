"""The broker: one transport per process, and the few operations on queues.

The messaging library takes a third of a second to import: it is imported when a transport is made, so a process without
one (heatlite-all) does not import it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from typing import TYPE_CHECKING

from heatlite.common import exception, settings

if TYPE_CHECKING:
    import oslo_messaging
    from oslo_config.cfg import ConfigOpts
    from oslo_messaging._drivers.base import IncomingMessage

LOG = logging.getLogger(__name__)

EXCHANGE = 'heat'
PORT = 5672                     # of a broker, where the URL has none
PROBE_SECONDS = 2.0
LOGIN_ROUNDS = 2                # of as many attempts as there are hosts
RECONNECT_SECONDS = 2           # at most, between two attempts; the library's default grows to thirty
HEARTBEAT_SECONDS = 5           # a connection silent for three times as long is left; the library's default is 60
# The next host is chosen by chance. In turn, a connection that waits for messages would return to a silent host for
# ever: oslo.messaging and kombu together move it on by three hosts each time, and a cluster has three.
FAILOVER = 'shuffle'
RABBIT = 'oslo_messaging_rabbit'
RABBIT_DEFAULTS = {'rabbit_interval_max': RECONNECT_SECONDS, 'heartbeat_timeout_threshold': HEARTBEAT_SECONDS,
                   'kombu_failover_strategy': FAILOVER}
THREADS_OPTION = 'executor_thread_pool_size'
THREADS = 1024                  # that answer messages; a sixteenth of them works at once (heatlite.rpc.slots)
NOTIFICATIONS = 'oslo_messaging_notifications'
BASIC_CANCEL = (60, 30)         # the method of AMQP that tells of a cancelled consumer
CLOSING = 'during closing channel'      # in a line of the library `amqp`
NOTIFICATION_RETRIES = 3        # the library's default is to retry for ever


def set_defaults() -> None:
    """Set our defaults in the library itself, for the sample configuration. A program sets them with `transport`."""
    import oslo_messaging
    from oslo_config import cfg
    from oslo_messaging import server
    from oslo_messaging._drivers import impl_rabbit
    oslo_messaging.set_transport_defaults(EXCHANGE)
    cfg.set_defaults(impl_rabbit.rabbit_opts, **RABBIT_DEFAULTS)
    cfg.set_defaults(server._pool_opts, **{THREADS_OPTION: THREADS})


def transport(conf: ConfigOpts, process: str, url: str | None = None) -> oslo_messaging.RPCTransport:
    """Return the RPC transport of `url`, by default of option `transport_url`. Connects on first use.

    `process`: the default name of this process for its queues, if the library numbers them (`use_queue_manager`). It
    counts per process group and starts anew in each, so without a name of its own each worker of a host would read
    the replies to the others.

    `conf` must be `cfg.CONF`: the library declares its tracing options only there.
    """
    import oslo_messaging
    from oslo_messaging import opts, server
    logging.getLogger('amqp').addFilter(_WHILE_CLOSING)
    oslo_messaging.set_transport_defaults(EXCHANGE)
    for group, found in opts.list_opts():       # the driver reads some while it is made
        if str(group) == RABBIT:
            conf.register_opts(found, group=RABBIT)
    conf.register_opts(server._pool_opts)
    conf.set_default(THREADS_OPTION, THREADS)
    if conf[THREADS_OPTION] < THREADS:      # a file of Heat has the library's 64: a project would have one slot
        LOG.warning('[DEFAULT] %s = %d: %d threads are used, most of which only wait', THREADS_OPTION,
                    conf[THREADS_OPTION], THREADS)
        conf.set_override(THREADS_OPTION, THREADS)
    for name, value in {**RABBIT_DEFAULTS, 'processname': process}.items():
        conf.set_default(name, value, group=RABBIT)
    return oslo_messaging.get_rpc_transport(conf, url=url)


def target(conf: ConfigOpts, engine_id: str | None = None, topic: str | None = None) -> oslo_messaging.Target:
    """Return the RPC target: any engine, or the one of this id. `topic`: by default that of option [engine] topic."""
    import oslo_messaging
    return oslo_messaging.Target(exchange=EXCHANGE, topic=topic or conf.engine.topic, server=engine_id)


def has_notifications(conf: ConfigOpts) -> bool:
    """Whether [oslo_messaging_notifications] is configured. Does not import the library."""
    return (NOTIFICATIONS in conf.list_all_sections()
            or any(group == NOTIFICATIONS for group, _name in settings.assignments(conf).values)
            or any(name.startswith(f'OS_{NOTIFICATIONS.upper()}__') for name in os.environ))


def notifier(conf: ConfigOpts, publisher_id: str) -> oslo_messaging.Notifier:
    """Return the notifier configured by [oslo_messaging_notifications]; without a driver it does nothing."""
    import oslo_messaging
    carrier = oslo_messaging.get_notification_transport(conf)
    return oslo_messaging.Notifier(carrier, publisher_id=publisher_id, retry=NOTIFICATION_RETRIES)


def peers(conf: ConfigOpts, url: str | None = None) -> tuple[oslo_messaging.TransportURL,
                                                             list[oslo_messaging.TransportHost]]:
    """Return the parsed transport URL, by default `transport_url`, and its hosts, each with a hostname and a port."""
    import oslo_messaging
    found = oslo_messaging.TransportURL.parse(conf, url)
    hosts = [oslo_messaging.TransportHost(each.hostname, each.port or PORT, each.username, each.password)
             for each in found.hosts]
    return found, hosts or [oslo_messaging.TransportHost('localhost', PORT)]


def connects(url: oslo_messaging.TransportURL) -> bool:
    """Whether the driver of a transport URL connects to a broker; that of fake:// does not."""
    return str(url.transport).startswith(('rabbit', 'kombu', 'amqp'))


def probe(conf: ConfigOpts, broker: str | None = None) -> None:
    """Raise BrokerUnavailable when no host of a transport URL accepts a connection within two seconds each.

    `broker`: the URL; by default `transport_url`.

    The library retries its first connection for ever; this check reports the failure at once.
    """
    url, hosts = peers(conf, broker)
    if not connects(url):
        return
    reason = 'no host in transport_url'
    for host in hosts:
        try:
            with contextlib.closing(socket.create_connection((host.hostname, host.port), timeout=PROBE_SECONDS)):
                return
        except OSError as error:
            reason = f'{host.hostname}:{host.port}: {error.strerror or error}'
    raise exception.BrokerUnavailable(reason=reason if url.hosts else (
        f'{reason}; {_option(broker)} names no host: set one, such as {settings.EXAMPLE_BROKER}'))


def login(carrier: oslo_messaging.RPCTransport, broker: str | None = None) -> None:
    """Open a connection of the driver, if it has none, and give it back. Raises `refusals()`, and what the libraries
    raise where the connection fails. `broker`: the URL of the transport; by default `transport_url`.

    Of several hosts the library chooses one by chance for each attempt, perhaps the same one again."""
    url, hosts = peers(carrier.conf, broker)
    if connects(url):
        with carrier._driver._get_connection(retry=LOGIN_ROUNDS * len(hosts) - 1 if len(hosts) > 1 else 0):
            LOG.debug('The broker has accepted a login of this process')


def _option(broker: str | None) -> str:
    return '[DEFAULT] transport_url is not set or' if broker is None else 'transport_url of a cell'


def refusals() -> tuple[type[Exception], ...]:
    """Return the errors of a broker that refuses user, password or virtual host. The library passes them on at once."""
    from amqp import exceptions as broker  # with the messaging library
    return broker.AccessRefused, broker.NotAllowed


def describe_refusal(conf: ConfigOpts, error: Exception, broker: str | None = None) -> str:
    """One line for operators: which hosts refuse what to whom, and what to check; never the password.

    `error`: one of `refusals()`. `broker`: the URL; by default `transport_url`.
    """
    url, hosts = peers(conf, broker)
    where = ', '.join(f'{host.hostname}:{host.port}' for host in hosts)
    users = ', '.join(dict.fromkeys(host.username or 'guest' for host in hosts))
    text = str(getattr(error, 'reply_text', error))
    what = (f'the user {users} or the password' if 'Login was refused' in text else
            f'the virtual host {url.virtual_host or "/"}, or a right in it, to the user {users}')
    return f'{where} refuses {what} ({text.partition(" - ")[0]}); check transport_url, or run heatlite-manage doctor'


def late(server: oslo_messaging.RPCServer) -> list[IncomingMessage]:
    """Return the messages that a server which has ended took while its connection was closed. The library acknowledges
    and forgets them: no other engine gets them, and their callers would wait until their time is over."""
    listener = getattr(server.listener, '_poll_style_listener', None)
    return list(getattr(listener, 'incoming', ()))


def remove_queue(carrier: oslo_messaging.RPCTransport, engine_id: str) -> None:
    """Delete the queue of an engine that has ended; a failure leaves an empty queue until the broker restarts.

    Uses a connection of the driver, which handles TLS and failover; the library has no public method for it. Takes its
    lock, as the driver does: the thread for heartbeats sets a time-out of a millisecond on the same socket.
    """
    name = f'{carrier.conf.engine.topic}.{engine_id}'
    try:
        with carrier._driver._get_connection(retry=0) as connection, connection._connection_lock:
            connection.channel.queue_delete(name, if_unused=True)
    except Exception as error:
        LOG.info('The queue %s was not removed: %s', name, error)


class _WhileClosing(logging.Filter):
    """Leaves out that the broker cancels a consumer of a channel that is being closed, as at each stop of a server: the
    queue goes with its last consumer. In channels that are in use a cancellation is no line but an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        is_cancelled = isinstance(record.args, tuple) and record.args[:1] == (BASIC_CANCEL,)
        return not (is_cancelled and CLOSING in str(record.msg))


_WHILE_CLOSING = _WhileClosing()
