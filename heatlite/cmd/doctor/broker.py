"""Checks of RabbitMQ: each host, the login, the rights, the queue of the engines."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from heatlite.cmd.doctor.checks import FAILED, WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.database import not_sqlite
from heatlite.cmd.doctor.site import Site
from heatlite.common import messaging
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from amqp import Channel
    from oslo_config.cfg import ConfigOpts
    from oslo_messaging import TransportHost

HEAT_TOPIC, HEAT_LISTENER = 'engine', 'heat-engine-listener'        # queues of Heat's engines, in the same exchange


class BrokerConnection(Protocol):
    """A connection of kombu, as it is used here."""

    def channel(self) -> Channel: ...


def unused(site: Site) -> str:
    """Why no broker is needed: heatlite-all has none, and some drivers connect to nothing."""
    if not site.conf.transport_url or site.conf.transport_url == 'rabbit://':
        return _('transport_url is not set') if not_sqlite(site) else ''
    url, _hosts = messaging.peers(site.conf)
    return '' if messaging.connects(url) else _('transport_url has the driver %s') % url.transport


def is_named(site: Site) -> Iterator[DoctorFinding]:
    if not site.conf.transport_url or site.conf.transport_url == 'rabbit://':
        yield DoctorFinding(_('The option [DEFAULT] transport_url has the URL of RabbitMQ.'), _('It is not set.'),
                            _('Set [DEFAULT] transport_url = rabbit://USER:PASSWORD@HOST:5672/ in heatlite.conf.'))


def reachable(site: Site) -> Iterator[DoctorFinding]:
    """All hosts: the failure of one is found before that of the last."""
    yield from unreachable(site, messaging.peers(site.conf)[1])


def unreachable(site: Site, hosts: Sequence[TransportHost]) -> Iterator[DoctorFinding]:
    problems = [problem for host in hosts if (problem := site.connect(host.hostname, host.port))]
    for problem in problems:
        yield DoctorFinding(_('Each host of transport_url accepts connections.'), problem, _(
            'Start RabbitMQ there, correct host and port in transport_url, or open the firewall between both.'),
            FAILED if len(problems) == len(hosts) else WARNING)


# --- the login --------------------------------------------------------------------------------------------

def tls(given: ConfigOpts.GroupAttr, hostname: str) -> Mapping[str, object] | bool:
    """Return what the messaging library passes for [oslo_messaging_rabbit]; False: no TLS."""
    if not given.ssl:
        return False
    found: dict[str, object] = {name: value for name, value in (
        ('keyfile', given.ssl_key_file), ('certfile', given.ssl_cert_file), ('ca_certs', given.ssl_ca_file)) if value}
    if given.ssl_ca_file:
        found['cert_reqs'] = ssl.CERT_REQUIRED
        if given.ssl_enforce_hostname_verification:
            found['server_hostname'] = hostname
    return found or True


@contextmanager
def channel(site: Site, host: TransportHost, virtual_host: str) -> Iterator[Channel]:
    """Yield a channel to one host. Raises what the AMQP library raises, OSError."""
    import kombu
    given = site.conf[messaging.RABBIT]
    wait = {'read_timeout': site.timeout, 'write_timeout': site.timeout}
    # Loaded at first use; it has no type hints.
    connect: Callable[..., AbstractContextManager[BrokerConnection]] = getattr(kombu, 'Connection')  # noqa: B009
    with connect(
            hostname=host.hostname, port=host.port, userid=host.username or 'guest',
            password=host.password or 'guest', virtual_host=virtual_host, transport='pyamqp',
            ssl=tls(given, host.hostname), login_method=given.rabbit_login_method, connect_timeout=site.timeout,
            transport_options=wait) as connection:
        yield connection.channel()


def first(site: Site, transport_url: str | None = None) -> tuple[TransportHost, str]:
    """(host, virtual host): the first host that accepts connections. Raises OSError. `transport_url`: that of [DEFAULT]
    unless said."""
    url, hosts = messaging.peers(site.conf, transport_url)
    for host in hosts:
        if not site.connect(host.hostname, host.port):
            return host, url.virtual_host or '/'
    raise ConnectionError(_('no host of transport_url accepts connections'))


def logged_in(site: Site) -> Iterator[DoctorFinding]:
    from amqp import exceptions
    url, hosts = messaging.peers(site.conf)
    virtual_host = url.virtual_host or '/'
    for host in hosts:
        where = f'{host.hostname}:{host.port}'
        if site.connect(host.hostname, host.port):
            continue                            # reported by the check before
        try:
            with channel(site, host, virtual_host):
                pass
        except exceptions.AccessRefused:
            yield DoctorFinding(_('The user of [DEFAULT] transport_url logs in to RabbitMQ.'),
                                _('%(where)s refuses the user "%(user)s" or the password.')
                                % {'where': where, 'user': host.username or 'guest'},
                                _('Correct transport_url, or on the broker: rabbitmqctl add_user USER PASSWORD.'))
        except exceptions.NotAllowed:
            yield DoctorFinding(_('The user of [DEFAULT] transport_url may use the virtual host.'),
                                _('%(where)s refuses the virtual host "%(name)s" to "%(user)s".')
                                % {'where': where, 'name': virtual_host, 'user': host.username or 'guest'},
                                _('Correct transport_url, or on the broker: rabbitmqctl add_vhost NAME and rabbitmqctl '
                                  'set_permissions -p NAME USER ".*" ".*" ".*".'))
        except (OSError, exceptions.AMQPError) as error:
            yield DoctorFinding(_('RabbitMQ answers to a login.'), f'{where}: {type(error).__name__}: {error}', _(
                'Make sure that RabbitMQ listens at this port, and that [oslo_messaging_rabbit] ssl says whether '
                'the port has TLS.'))


# --- rights and queues ------------------------------------------------------------------------------------

def rights(site: Site) -> Iterator[DoctorFinding]:
    """Make a queue and an exchange with names as the service gives them, use and remove both."""
    from amqp import exceptions
    host, virtual_host = first(site)
    mark = uuid.uuid4().hex
    queue, exchange = f'{site.conf.engine.topic}.doctor-{mark}', f'reply_doctor-{mark}'
    step = ''
    try:
        with channel(site, host, virtual_host) as found:
            step = _('configure (make the queue "%s")') % queue
            found.queue_declare(queue, exclusive=True, auto_delete=True, durable=False)
            step = _('configure (make the exchange "%s")') % exchange
            found.exchange_declare(exchange, 'direct', durable=False, auto_delete=True)
            step = _('read and write (bind both)')
            found.queue_bind(queue, exchange, queue)
            step = _('write (send a message)')
            found.basic_publish(found.prepare_message(
                '{}', content_type='application/json', content_encoding='utf-8'), exchange, queue)
            step = _('read (receive it)')
            found.basic_get(queue, no_ack=True)
            found.queue_delete(queue)           # the exchange goes with it, and both with the connection
    except exceptions.AccessRefused:
        yield DoctorFinding(_('The user of [DEFAULT] transport_url may make, write and read all queues of the '
                              'service.'),
                            _('It has not the right to %s.') % step,
                            f'rabbitmqctl set_permissions -p {virtual_host} {host.username or "guest"} ".*" ".*" ".*"')


def arguments(given: ConfigOpts.GroupAttr) -> tuple[bool, dict[str, object]]:
    """(durable, arguments) with which the messaging library declares the queue of the engines."""
    found: dict[str, object] = {}
    if given.rabbit_ha_queues:
        found['x-ha-policy'] = 'all'
    if given.rabbit_quorum_queue:
        found['x-queue-type'] = 'quorum'
        for name, value in (('x-delivery-limit', given.rabbit_quorum_delivery_limit),
                            ('x-max-in-memory-length', given.rabbit_quorum_max_memory_length),
                            ('x-max-in-memory-bytes', given.rabbit_quorum_max_memory_bytes)):
            if value:
                found[name] = value
    return bool(given.amqp_durable_queues or given.rabbit_quorum_queue), found


def queue_matches(site: Site) -> Iterator[DoctorFinding]:
    """Declare the queue of the engines as they do, if it exists: that changes nothing."""
    from amqp import exceptions
    host, virtual_host = first(site)
    given, topic = site.conf[messaging.RABBIT], site.conf.engine.topic
    durable, wanted = arguments(given)
    try:
        with channel(site, host, virtual_host) as found:
            found.queue_declare(topic, passive=True)
    except exceptions.NotFound:
        return                                  # the first engine will make it
    except exceptions.ResourceLocked:
        yield _taken(topic)
        return
    try:
        with channel(site, host, virtual_host) as found:
            found.queue_declare(topic, durable=durable, auto_delete=given.amqp_auto_delete, exclusive=False,
                                arguments=wanted)
    except exceptions.PreconditionFailed as error:
        yield DoctorFinding(
            _('The queue "%s" was made with the present options of [oslo_messaging_rabbit] (rabbit_quorum_queue, '
              'amqp_durable_queues, amqp_auto_delete).') % topic, str(error).split(' for queue ')[0],
            _('Use the same options on all hosts. After a change of them stop all processes, remove the queue '
              '(rabbitmqctl delete_queue -p %(host)s %(queue)s) and the exchange (rabbitmqadmin -V %(host)s delete '
              'exchange name=%(exchange)s), and start them. If a Heat uses this virtual host, too, leave its exchange, '
              'and take another virtual host for heatlite.')
            % {'host': virtual_host, 'queue': topic, 'exchange': messaging.EXCHANGE})


def _taken(topic: str) -> DoctorFinding:
    return DoctorFinding(_('The queue "%s" is that of the engines.') % topic, _('Another program owns it exclusively.'),
                         _('Set [engine] topic to a name that nothing else uses, on all hosts.'))


def is_answered(site: Site) -> Iterator[DoctorFinding]:
    yield from is_received(site, site.conf.engine.topic)


def is_received(site: Site, topic: str, transport_url: str | None = None) -> Iterator[DoctorFinding]:
    """`transport_url`: as in `first`."""
    from amqp import exceptions
    host, virtual_host = first(site, transport_url)
    expected = _('Engines receive from the queue "%s".') % topic
    fix = _('Start heatlite-engine; transport_url and [engine] topic have to be the same on all hosts.')
    try:
        with channel(site, host, virtual_host) as found:
            declared = found.queue_declare(topic, passive=True)
    except exceptions.NotFound:
        yield DoctorFinding(expected, _('There is no such queue at %s.') % host.hostname, fix)
        return
    if not declared.consumer_count:
        yield DoctorFinding(expected, _('%d messages wait, and nothing receives them.') % declared.message_count, fix)


def shared(site: Site) -> Iterator[DoctorFinding]:
    """Engines of Heat in the same virtual host receive from a queue of the same name, unless [engine] topic differs."""
    from amqp import exceptions
    if site.conf.engine.topic != HEAT_TOPIC:
        return
    host, virtual_host = first(site)
    try:
        with channel(site, host, virtual_host) as found:
            consumers = found.queue_declare(HEAT_LISTENER, passive=True).consumer_count
    except exceptions.NotFound:
        return
    if consumers:
        yield DoctorFinding(
            _('No engine of Heat receives from the queue "%s".') % HEAT_TOPIC,
            _('Engines of Heat are in the virtual host "%s": both services would receive requests of the other one.')
            % virtual_host,
            _('Set [DEFAULT] transport_url to a virtual host of its own, or [engine] topic to another name, on all '
              'hosts.'))


# --- notifications ----------------------------------------------------------------------------------------

def no_notifications(site: Site) -> str:
    if not messaging.has_notifications(site.conf) or not any(
            driver.startswith('messaging') for driver in site.conf[messaging.NOTIFICATIONS].driver):
        return _('[oslo_messaging_notifications] driver is not set')
    return ''


def bus(site: Site) -> Iterator[DoctorFinding]:
    url = site.conf[messaging.NOTIFICATIONS].transport_url or site.conf.transport_url
    parsed, hosts = messaging.peers(site.conf, url)
    if not messaging.connects(parsed):
        return
    for host in hosts:
        problem = site.connect(host.hostname, host.port)
        if problem:
            yield DoctorFinding(_('The bus for notifications accepts connections.'), problem,
                                _('Correct [oslo_messaging_notifications] transport_url, or start the broker.'))


CHECKS = (
    Check('broker-url', _('transport_url is set'), is_named, unused=unused),
    Check('broker-hosts', _('each host of transport_url accepts connections'), reachable, ('broker-url',), unused),
    Check('broker-login', _('the user logs in to the virtual host, at each host'), logged_in, ('broker-hosts',),
          unused),
    Check('broker-rights', _('the user may make, write and read queues (with a temporary queue)'), rights,
          ('broker-login',), unused),
    Check('broker-queue', _('the queue of the engines has the configured type'), queue_matches, ('broker-rights',),
          unused),
    Check('broker-shared', _('no engine of Heat receives from the queue of the engines'), shared, ('broker-login',),
          unused),
    Check('broker-notifications', _('the bus for notifications accepts connections'), bus, unused=no_notifications),
    Check('running-queue', _('engines receive from their queue'), is_answered, ('broker-queue',), unused),
)
