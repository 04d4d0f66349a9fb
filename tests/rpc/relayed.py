"""A broker behind relays, and an engine's server, for programs that play an engine and its caller."""

from heatlite.common import config, exception, messaging
from heatlite.common.context import RequestContext
from heatlite.rpc import messages, server
from tests.system.relay import Relay


def configured(name, url, runtime):
    """A configuration with a topic of its own: others may use the broker at `url`, too."""
    conf = config.load([], name, default_files=[])
    import oslo_messaging
    oslo_messaging.get_rpc_transport(conf, url)         # declares the option
    conf.set_override('transport_url', url)
    conf.set_override('topic', f'{name}-{runtime.uuid()}', group='engine')
    return conf


def broker(name, url, runtime, count=1):
    """(configuration, transport, relays)."""
    conf = configured(name, url, runtime)
    import oslo_messaging
    host = oslo_messaging.TransportURL.parse(conf, url).hosts[0]
    relays = [Relay((host.hostname, host.port)) for _ in range(count)]
    conf.set_override('transport_url', 'rabbit://' + ','.join(
        f'{host.username}:{host.password}@127.0.0.1:{relay.port}' for relay in relays) + '/')
    return conf, messaging.transport(conf, name), relays


def serve(transport, engine_id, endpoint):
    """A server that listens; blocks until there is a broker."""
    serving = server.MessageServer(transport, engine_id, endpoint)
    serving.start()
    return serving


def asked(ends):
    """What a caller gets: the answer, or the name of the error."""
    try:
        return ends.call(RequestContext(project_id='p', overwrite=False), messages.DeleteStack('s'))
    except exception.HeatException as error:
        return type(error).__name__
