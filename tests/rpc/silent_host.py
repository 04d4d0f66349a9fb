"""A program: an engine whose messages come from one of three hosts of a broker, which goes silent. Prints as JSON what
a caller gets before and meanwhile.

`python -m tests.rpc.silent_host URL`; a process of its own because its threads are cooperative.
"""

import json
import sys

from heatlite.common import config, exception, messaging
from heatlite.common import runtime as runtimes
from heatlite.common.context import RequestContext
from heatlite.rpc import client, messages, server
from tests.system.relay import Relay

PATIENCE = 60.0         # seconds


class Engine:
    def handle(self, context, message):
        return 'answer'


def main(url):
    runtimes.patch()
    runtime = runtimes.current()
    conf = config.load([], 'silent', default_files=[])
    import oslo_messaging
    oslo_messaging.get_rpc_transport(conf, url)         # declares the option
    host = oslo_messaging.TransportURL.parse(conf, url).hosts[0]
    relays = [Relay((host.hostname, host.port)) for _ in range(3)]
    conf.set_override('transport_url', 'rabbit://' + ','.join(
        f'{host.username}:{host.password}@127.0.0.1:{relay.port}' for relay in relays) + '/')
    conf.set_override('topic', f'silent-{runtime.uuid()}', group='engine')      # others may use the same broker
    transport = messaging.transport(conf, 'silent')
    conf.set_override('heartbeat_timeout_threshold', 1, group=messaging.RABBIT)
    serving = server.serve(transport, runtime.uuid(), Engine())
    silent = next(relay for relay in relays if relay.is_used)
    ends = client.BrokerClient(conf, transport)
    conf.set_override('rpc_response_timeout', 3)

    def asked():
        try:
            return ends.call(RequestContext(project_id='p', overwrite=False), messages.DeleteStack('s'))
        except exception.HeatException as error:
            return type(error).__name__

    found = {'before': asked()}
    silent.freeze()
    end = runtime.monotonic() + PATIENCE
    while runtime.monotonic() < end:
        found['meanwhile'] = asked()
        if found['meanwhile'] == 'answer':
            break
    for relay in relays:
        relay.cut()
    del serving
    print(json.dumps(found))


if __name__ == '__main__':
    main(sys.argv[1])
