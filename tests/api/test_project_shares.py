"""A project gets a part of the places of an API process: requests that wait for engines or services hold them."""

import pytest

from heatlite.api.middleware import context
from heatlite.api.middleware.project_shares import ProjectShares, TooManyAtOnce
from heatlite.common.context import RequestContext
from tests.api.in_process import ask, build, options


def call(shares, project, **more):
    caller = RequestContext(project_id=project, overwrite=False)
    caller.stack_project_id = more.get('stack_project_id')
    return shares({context.KEY: caller}, lambda *_args: None)


class Held:
    """An application each of whose requests is under way until others were sent in it."""

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile

    def __call__(self, environ, _start_response):
        self.meanwhile()
        return [b'done']


def test_requests_of_one_project_are_refused_while_it_has_its_share():
    begun = []

    def meanwhile():
        begun.append(len(begun))
        if len(begun) == 3:
            with pytest.raises(TooManyAtOnce):
                call(shares, 'one')
            shares._app = Held(lambda: None)
            assert call(shares, 'two') == [b'done']
            assert call(shares, 'inside', stack_project_id='one') == [b'done']
        else:
            call(shares, 'one')

    shares = ProjectShares(Held(meanwhile), most=3)
    assert call(shares, 'one') == [b'done']
    assert begun == [0, 1, 2]
    assert call(shares, 'one') == [b'done']                 # all of them have ended


def test_one_that_fails_has_ended_too():
    def fails():
        raise ValueError

    shares = ProjectShares(Held(fails), most=1)
    for _ in range(2):
        with pytest.raises(ValueError):
            call(shares, 'one')


def test_the_answer_says_when_to_come_again(monkeypatch):
    conf = options()
    conf.set_override('max_connections', 4, group='heat_api')
    monkeypatch.setattr(ProjectShares, '__call__', lambda *_args: (_ for _ in ()).throw(TooManyAtOnce()))
    answer = ask(build(conf), 'GET', '/v1/p/stacks')
    assert (answer.status_int, answer.headers['Retry-After']) == (503, '1')
    assert answer.json['error']['type'] == 'TooManyAtOnce'
