"""A signature is checked by the Keystones of several clouds, one after the other, until one accepts it."""

from __future__ import annotations

import pytest
import webob

from heatlite.api.aws import layers
from heatlite.api.aws.errors import AwsError, IdentityUnavailable
from heatlite.api.aws.signature import Ec2Signature, SignatureKeystone
from tests.api import in_process

TOKEN = {'user': {'id': 'u'}, 'project': {'id': 'p'}, 'roles': [{'name': 'member'}]}
SIGNED = 'AWSAccessKeyId=key&Signature=signature&Action=ListStacks'


class Answer:
    def __init__(self, status, **content):
        self.status_code, self._content = status, content
        self.headers = {'X-Subject-Token': 'token'}

    def json(self):
        return self._content


ACCEPTS = Answer(200, token=TOKEN)
KNOWS_NO_KEY = Answer(404, error={'message': 'EC2 access key not found.'})
REFUSES = Answer(403, error={'message': 'no'})


class Cloud:
    """A session at a Keystone that always gives the same answer."""

    def __init__(self, answer, auth=None):
        self.answer, self.auth, self.asked = answer, auth, []

    def post(self, url, json, raise_exc, authenticated):
        self.asked.append((url, authenticated))
        return self.answer


def ask(*clouds, before=()):
    """The project that the application sees. `before`: Keystones that are asked before those of `clouds`."""
    seen = []
    keystones = [*before, *(SignatureKeystone(f'http://{place}/v3', lambda cloud=cloud: cloud)
                            for place, cloud in enumerate(clouds))]
    layer = Ec2Signature(lambda environ, _start: seen.append(environ['HTTP_X_PROJECT_ID']) or [], keystones,
                         takes_tokens=True)
    layer(webob.Request.blank(f'/v1/?{SIGNED}').environ, None)
    return seen


def test_the_first_that_accepts_is_the_last_that_is_asked():
    north, south, east = Cloud(KNOWS_NO_KEY), Cloud(ACCEPTS, auth='a login'), Cloud(REFUSES)
    assert ask(north, south, east) == ['p']
    assert (north.asked, south.asked, east.asked) == (
        [('http://0/v3/ec2tokens', False)], [('http://1/v3/ec2tokens', True)], [])


def test_the_last_refusal_is_the_answer():
    with pytest.raises(AwsError) as refused:
        ask(Cloud(REFUSES), Cloud(KNOWS_NO_KEY))
    assert refused.value.code == 'InvalidClientTokenId'


@pytest.mark.parametrize('login', ['auth_type = nonsense', 'auth_type = password'])
def test_a_cloud_with_a_wrong_login_is_unavailable_and_the_next_is_asked(tmp_path, login):
    """The plug-in of its login is not there, or has no URL to log in to."""
    file = tmp_path / 'heatlite.conf'
    file.write_text('[ec2authtoken]\nmulti_cloud = true\nclouds = north\n'
                    f'[ec2authtoken.north]\nauth_uri = http://north/v3\n{login}\n')
    north = layers.keystones(in_process.options(files=[str(file)]))
    assert ask(Cloud(ACCEPTS), before=north) == ['p']
    with pytest.raises(IdentityUnavailable):
        ask(before=north)
