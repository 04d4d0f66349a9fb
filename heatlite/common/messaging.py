"""The broker: one transport per process, and the little that must be known of queues.

The messaging library costs a third of a second to import: it is imported when a transport is wanted, so a
process that needs none (heatlite-all) never pays.
"""

from __future__ import annotations

import logging
import os
import socket
from contextlib import closing, suppress
from typing import Any

from heatlite.common import exception

LOG = logging.getLogger(__name__)

EXCHANGE = 'heat'
PROBE_SECONDS = 2.0
RECONNECT_SECONDS = 2           # at most, between two tries; the library's own default grows to thirty
NOTIFICATIONS = 'oslo_messaging_notifications'
NOTIFICATION_RETRIES = 3        # the library's own default is for ever


def transport(conf: Any) -> Any:
    """The RPC transport of option `transport_url`. Connects on first use.

    `conf` is `cfg.CONF`: the library declares its tracing options there and nowhere else.
    """
    import oslo_messaging
    from oslo_config import cfg
    oslo_messaging.set_transport_defaults(EXCHANGE)
    made = oslo_messaging.get_rpc_transport(conf)
    with suppress(cfg.NoSuchOptError, cfg.NoSuchGroupError):        # fake:// has no such options
        conf.set_default('rabbit_interval_max', RECONNECT_SECONDS, group='oslo_messaging_rabbit')
    return made


def target(conf: Any, engine_id: str | None = None) -> Any:
    """Any engine, or the one of this id."""
    import oslo_messaging
    return oslo_messaging.Target(exchange=EXCHANGE, topic=conf.engine.topic, server=engine_id)


def has_notifications(conf: Any) -> bool:
    """Whether anything is said of [oslo_messaging_notifications]. Knows it without the library."""
    return (NOTIFICATIONS in conf.list_all_sections()
            or any(name.startswith(f'OS_{NOTIFICATIONS.upper()}__') for name in os.environ))


def notifier(conf: Any, publisher_id: str) -> Any:
    """Sends notifications as [oslo_messaging_notifications] says; without a driver there it does nothing."""
    import oslo_messaging
    carrier = oslo_messaging.get_notification_transport(conf)
    return oslo_messaging.Notifier(carrier, publisher_id=publisher_id, retry=NOTIFICATION_RETRIES)


def probe(conf: Any) -> None:
    """Raises BrokerUnavailable when no host of `transport_url` takes a connection within two seconds each.

    The library retries for ever when it makes its first connection; this is how a caller hears at once.
    """
    import oslo_messaging
    url = oslo_messaging.TransportURL.parse(conf)
    if not url.transport.startswith(('rabbit', 'kombu', 'amqp')):
        return                              # fake:// and kombu+memory:// have nothing to connect to
    reason = 'no host in transport_url'
    for host in url.hosts or [oslo_messaging.TransportHost('localhost', 5672)]:
        port = host.port or 5672
        try:
            with closing(socket.create_connection((host.hostname, port), timeout=PROBE_SECONDS)):
                return
        except OSError as error:
            reason = f'{host.hostname}:{port}: {error.strerror or error}'
    raise exception.BrokerUnavailable(reason=reason)


def remove_queue(carrier: Any, engine_id: str) -> None:
    """Deletes the queue of an engine that has ended; a failure costs an empty queue until the broker restarts.

    Goes through a connection of the driver, which knows about TLS and failover; there is no public way.
    """
    name = f'{carrier.conf.engine.topic}.{engine_id}'
    try:
        with carrier._driver._get_connection(retry=0) as connection:
            connection.channel.queue_delete(name, if_unused=True)
    except Exception as error:
        LOG.info('The queue %s was not removed: %s', name, error)
