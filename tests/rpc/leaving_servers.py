"""A program: engines that leave, one after the other, while many callers ask. Prints as JSON how many were answered.

`python -m tests.rpc.leaving_servers URL`; a process of its own because its threads are cooperative.
"""

import json
import sys
from collections import Counter

from heatlite.common import messaging
from heatlite.common import runtime as runtimes
from heatlite.common.context import RequestContext
from heatlite.rpc import client, messages
from tests.rpc import relayed

CALLERS = 12
LEAVING = 15
SECONDS = 0.3                   # of each


class Quick:
    def handle(self, context, message):
        return None


def main(url):
    runtimes.patch()
    runtime = runtimes.current()
    conf = relayed.configured('leaving', url, runtime)
    transport = messaging.transport(conf, 'leaving')
    ends, found, over = client.BrokerClient(conf, transport), Counter(), runtime.flag()
    conf.set_override('rpc_response_timeout', 5)

    def ask():
        while not over.is_set():
            try:
                ends.call(RequestContext(project_id='p', overwrite=False), messages.DeleteStack('s'))
            except Exception as error:
                found[type(error).__name__] += 1
            else:
                found['answered'] += 1

    stays = relayed.serve(transport, runtime.uuid(), Quick())
    for _ in range(CALLERS):
        runtime.spawn(ask)
    for _ in range(LEAVING):
        leaves = relayed.serve(transport, runtime.uuid(), Quick())
        runtime.sleep(SECONDS)
        leaves.stop()
    runtime.sleep(6.0)
    over.set()
    stays.stop()
    print(json.dumps(found))


if __name__ == '__main__':
    main(sys.argv[1])
