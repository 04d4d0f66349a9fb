"""A program: an engine that receives a message while the broker goes away, and a broker that is silent. Prints as
JSON what its caller gets.

`python -m tests.rpc.lost_answer URL`; a process of its own because its threads are cooperative.
"""

import json
import sys

from heatlite.common import config, exception, messaging
from heatlite.common import runtime as runtimes
from heatlite.common.context import RequestContext
from heatlite.rpc import client, messages, server
from tests.system.relay import Relay


class Surprised:
    """The broker is away when it wants to answer."""

    def __init__(self, relay):
        self._relay = relay
        self.received = 0

    def handle(self, context, message):
        self.received += 1
        self._relay.cut()


def main(url):
    runtimes.patch()
    runtime = runtimes.current()
    conf = config.load([], 'lost', default_files=[])
    import oslo_messaging
    oslo_messaging.get_rpc_transport(conf, url)         # declares the option
    host = oslo_messaging.TransportURL.parse(conf, url).hosts[0]
    relay = Relay((host.hostname, host.port))
    conf.set_override('transport_url', f'rabbit://{host.username}:{host.password}@127.0.0.1:{relay.port}/')
    conf.set_override('topic', f'lost-{runtime.uuid()}', group='engine')      # others may use the same broker
    transport = messaging.transport(conf, 'lost')
    engine = Surprised(relay)
    serving = server.serve(transport, runtime.uuid(), engine)
    ends = client.BrokerClient(conf, transport)

    def asked():
        try:
            return ends.call(RequestContext(project_id='p', overwrite=False), messages.DeleteStack('s'))
        except exception.HeatException as error:
            return type(error).__name__

    found = {'first': asked(), 'second': asked(), 'received': engine.received}
    conf.set_override('rpc_response_timeout', 3)
    relay.hang()
    found['silent'] = asked()
    relay.cut()
    relay.mend()
    del serving
    print(json.dumps(found))


if __name__ == '__main__':
    main(sys.argv[1])
