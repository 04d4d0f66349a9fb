"""A program: an engine whose messages come from one of three hosts of a broker, which goes silent. Prints as JSON what
a caller gets before and meanwhile.

`python -m tests.rpc.silent_host URL`; a process of its own because its threads are cooperative.
"""

import json
import sys

from heatlite.common import messaging
from heatlite.common import runtime as runtimes
from heatlite.rpc import client
from tests.rpc import relayed

PATIENCE = 60.0         # seconds


class Engine:
    def handle(self, context, message):
        return 'answer'


def main(url):
    runtimes.patch()
    runtime = runtimes.current()
    conf, transport, relays = relayed.broker('silent', url, runtime, count=3)
    conf.set_override('heartbeat_timeout_threshold', 1, group=messaging.RABBIT)
    serving = relayed.serve(transport, runtime.uuid(), Engine())
    silent = next(relay for relay in relays if relay.is_used)
    ends = client.BrokerClient(conf, transport)
    conf.set_override('rpc_response_timeout', 3)

    found = {'before': relayed.asked(ends)}
    silent.freeze()
    end = runtime.monotonic() + PATIENCE
    while runtime.monotonic() < end:
        found['meanwhile'] = relayed.asked(ends)
        if found['meanwhile'] == 'answer':
            break
    for relay in relays:
        relay.cut()
    del serving
    print(json.dumps(found))


if __name__ == '__main__':
    main(sys.argv[1])
