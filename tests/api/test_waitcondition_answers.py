"""The metadata of a handle, of megabytes, come from an engine only for a client that gets them: one that wants JSON."""

import pytest

from heatlite.api.cfn import deploy
from heatlite.common.green_threads import GreenRuntime
from heatlite.rpc.client import InProcessClient
from tests.api import in_process, rows

URL = f'/v1/waitcondition/arn:openstack:heat::{in_process.PROJECT}:stacks/web/{rows.WEB}/resources/handle'
METADATA = {'1': {'Status': 'SUCCESS', 'Reason': '', 'Data': ''}}


class Engine:
    """Answers as `requests.signals` does, and notes the answers."""

    def __init__(self):
        self.answers = []

    def handle(self, context, message):
        self.answers.append(None if context.drops_answer else METADATA)
        return self.answers[-1]


@pytest.mark.parametrize('query, sent', [('', None), ('?ContentType=JSON', METADATA)])
def test_only_a_client_of_json_gets_metadata(tmp_path, query, sent):
    engine = Engine()
    with rows.database(tmp_path) as made:
        app = deploy.build(in_process.options(), made, InProcessClient(GreenRuntime(), engine),
                           identity=in_process.Verified)
        answer = in_process.ask(app, 'PUT', URL + query, {})
    assert answer.status_code == 200, answer.text
    assert engine.answers == [sent]
    if sent is not None:
        assert answer.json == {'resource': 'handle', 'metadata': METADATA}
