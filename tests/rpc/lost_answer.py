"""A program: an engine that receives a message while the broker goes away, and a broker that is silent. Prints as
JSON what its caller gets.

`python -m tests.rpc.lost_answer URL`; a process of its own because its threads are cooperative.
"""

import json
import sys

from heatlite.common import runtime as runtimes
from heatlite.rpc import client
from tests.rpc import relayed


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
    conf, transport, [relay] = relayed.broker('lost', url, runtime)
    engine = Surprised(relay)
    serving = relayed.serve(transport, runtime.uuid(), engine)
    ends = client.BrokerClient(conf, transport)

    found = {'first': relayed.asked(ends), 'second': relayed.asked(ends), 'received': engine.received}
    conf.set_override('rpc_response_timeout', 3)
    relay.hang()
    found['silent'] = relayed.asked(ends)
    relay.cut()
    relay.mend()
    del serving
    print(json.dumps(found))


if __name__ == '__main__':
    main(sys.argv[1])
