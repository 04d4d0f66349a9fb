"""A program: one engine and one client on a real broker. Prints as JSON what came through.

`python -m tests.rpc.burst URL`; a process of its own because its threads are cooperative.
"""

import json
import sys
from dataclasses import dataclass

from heatlite.common import commits, exception, messaging
from heatlite.common import runtime as runtimes
from heatlite.common.context import RequestContext
from heatlite.rpc import client, messages
from tests.rpc import relayed

BURST = 200


@dataclass(frozen=True)
class PaintStack(messages.Message):
    """Of the next release."""

    stack_id: str


PATIENCE = 20.0     # seconds; one message per poll interval of the library (up to 5 s) would take far longer


class Newer:
    """An engine of the next release, as far as the library needs it."""

    def paint_stack(self, context, stack_id):
        return {'answer': {'project': context['project_id'], 'method': PaintStack.method()}}


class Counting:
    """`stalled`: the first export of the stack `slow` waits for it, as if its engine had ended."""

    def __init__(self, stalled):
        self.woken = []
        self.exports = []
        self.doubtful = 0
        self.has_database = True
        self._stalled = stalled

    def handle(self, context, message):
        match message:
            case messages.Wake(stack_id):
                self.woken.append(stack_id)
                return None
            case messages.DeleteStack(stack_id='missing'):
                raise exception.StackNotFound('missing')
            case messages.DeleteStack():
                raise ZeroDivisionError('by design')
            case messages.ExportStack(stack_id='unreached') if not self.has_database:
                raise exception.DatabaseUnavailable(reason='by design')
            case messages.DeleteSnapshot():
                self.doubtful += 1
                commits.begin()
                raise exception.DatabaseUnavailable(reason='by design')
            case messages.ExportStack(stack_id='slow'):
                self.exports.append(message.stack_id)
                if len(self.exports) == 1:
                    self._stalled.wait()
                return len(self.exports)
            case _:
                return {'project': context.project_id, 'method': message.method()}


def main(url):
    runtimes.patch()
    runtime = runtimes.current()
    conf = relayed.configured('burst', url, runtime)
    import oslo_messaging
    transport = messaging.transport(conf, 'burst')
    stalled = runtime.flag()
    here, elsewhere = Counting(stalled), Counting(stalled)
    ends = client.BrokerClient(conf, transport)
    context = RequestContext(project_id='p', overwrite=False)

    def asked(stack_id):
        try:
            return ends.call(context, messages.DeleteStack(stack_id))
        except Exception as error:
            return [type(error).__name__, str(error)]

    ends.wake('nobody')
    ends.wake('nobody', runtime.uuid())
    found = {'nobody': asked('nobody')}
    early = []                                          # asked before the first engine has its queue
    asking = [runtime.spawn(lambda: early.append(ends.call(context, messages.ExportStack('s')))) for _ in range(3)]
    runtime.sleep(0.6)
    serving = [relayed.serve(transport, runtime.uuid(), here),
               relayed.serve(transport, name := runtime.uuid(), elsewhere)]
    found['answer'] = ends.call(context, messages.ExportStack('s'))
    deadline = runtime.monotonic() + PATIENCE
    while len(early) < len(asking) and runtime.monotonic() < deadline:
        runtime.sleep(0.02)
    found['early'] = early
    found |= {stack_id: asked(stack_id) for stack_id in ('missing', 'odd')}
    runtime.sleep(3.0)                                    # an idle listener polls at its slowest
    for number in range(BURST):
        ends.wake(f'any-{number}')
        ends.wake(f'one-{number}', name)
    deadline = runtime.monotonic() + PATIENCE
    while len(here.woken) + len(elsewhere.woken) < 2 * BURST and runtime.monotonic() < deadline:
        runtime.sleep(0.02)
    found['any'] = len({each for each in here.woken + elsewhere.woken if each.startswith('any')})
    found['one'] = len({each for each in elsewhere.woken if each.startswith('one')})
    found['astray'] = len([each for each in here.woken if each.startswith('one')])
    here.exports = elsewhere.exports = []
    found['again'] = client.BrokerClient(conf, transport, read_timeout=0.5).call(context, messages.ExportStack('slow'))
    stalled.set()
    here.has_database = False
    found['elsewhere'] = [ends.call(context, messages.ExportStack('unreached')) for _ in range(6)]
    try:
        ends.call(context, messages.DeleteSnapshot('s', 'n'))
    except exception.DatabaseUnavailable:
        found['doubtful'] = here.doubtful + elsewhere.doubtful
    here.has_database = elsewhere.has_database = False
    try:
        ends.call(context, messages.ExportStack('unreached'))
    except exception.DatabaseUnavailable:
        found['nowhere'] = True
    for when in ('too_old', 'newer'):
        if when == 'newer':
            serving.append(oslo_messaging.get_rpc_server(transport, messaging.target(conf, runtime.uuid()), [Newer()]))
            serving[-1].start()
        try:
            found[when] = [ends.call(context, PaintStack('s')) for _ in range(6)]
        except exception.EngineTooOld as error:
            found[when] = [type(error).__name__, str(error)]
    for each in serving:
        each.stop()
    print(json.dumps(found))


if __name__ == '__main__':
    main(sys.argv[1])
