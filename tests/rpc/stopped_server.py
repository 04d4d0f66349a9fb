"""A program: an engine that listens at a real broker, and stops. Prints as JSON what it logs, and what queue is left.

`python -m tests.rpc.stopped_server URL`; a process of its own because its threads are cooperative.
"""

import json
import logging
import sys

from heatlite.common import messaging
from heatlite.common import runtime as runtimes
from heatlite.rpc import server
from tests.rpc import relayed

ENGINE = 'engine-that-stops'


class Silent:
    def handle(self, context, message):
        return None


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def main(url):
    runtimes.patch()
    runtime = runtimes.current()
    conf = relayed.configured('stopped', url, runtime)
    kept = Kept()
    logging.getLogger().addHandler(kept)
    transport = messaging.transport(conf, 'stopped')
    runs = server.MessageServer(transport, ENGINE, Silent())
    runs.start()
    runtime.sleep(0.5)
    runs.stop()
    with transport._driver._get_connection(retry=0) as connection, connection._connection_lock:
        name = f'{conf.engine.topic}.{ENGINE}'
        try:
            connection.channel.queue_declare(name, passive=True)
            left = [name]
        except Exception as error:
            left = [] if getattr(error, 'code', None) == 404 else [repr(error)]
    print(json.dumps({'left': left, 'lines': [line for line in kept.lines if 'takes requests' not in line]}))


if __name__ == '__main__':
    main(sys.argv[1])
