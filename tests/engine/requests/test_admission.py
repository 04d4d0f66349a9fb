"""Requests wait while the engine has enough of their project: they come in, are refused, or their time is over."""

from datetime import timedelta

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.requests import admission
from heatlite.engine.requests.admission import Admission
from heatlite.testing.runtime import Universe


class Engine:
    """With a backlog for each project, and what became of requests: in order, (project, None or the error)."""

    def __init__(self):
        self.universe = Universe(1)
        self.runtime = self.universe.process('engine')
        self.backlog = {'busy': admission.ENOUGH, 'calm': admission.ENOUGH - 1}
        self.admission = Admission(self.runtime, lambda project: self.backlog[project])
        self.ended = []

    def ask(self, project, deadline=None):
        context = RequestContext(project_id=project, overwrite=False)
        context.deadline = deadline

        def request():
            try:
                self.admission.wait(context)
            except exception.HeatException as error:
                self.ended.append((project, type(error)))
            else:
                self.ended.append((project, None))
        self.runtime.spawn(request)

    def runs_until(self, count):
        assert self.universe.run(lambda: len(self.ended) == count)


@pytest.fixture
def engine():
    found = Engine()
    yield found
    found.universe.close()


def test_other_projects_do_not_wait(engine):
    engine.ask('busy')
    engine.ask('calm')
    engine.runs_until(1)
    assert engine.ended == [('calm', None)]
    engine.backlog['busy'] -= 1
    engine.runs_until(2)
    assert engine.ended[1] == ('busy', None)


def test_no_more_than_some_wait(engine):
    for _number in range(admission.MOST_WAITING + 2):
        engine.ask('busy')
    engine.runs_until(2)
    assert engine.ended == [('busy', exception.HTTPServiceUnavailable)] * 2
    engine.backlog['busy'] = 0
    engine.runs_until(admission.MOST_WAITING + 2)
    assert engine.ended[2:] == [('busy', None)] * admission.MOST_WAITING
    engine.backlog['busy'] = admission.ENOUGH
    engine.ask('busy')                          # those before have left
    engine.runs_until(admission.MOST_WAITING + 3)
    assert engine.ended[-1] == ('busy', exception.HTTPServiceUnavailable)       # after its patience


def test_a_caller_that_has_gone_is_not_served(engine):
    engine.ask('busy', deadline=engine.runtime.now() + timedelta(seconds=1))
    engine.runs_until(1)
    assert engine.ended == [('busy', exception.TooLate)]
