"""The threads of an engine are shared among projects, and each request gives its slot back at its deadline."""

from collections import Counter
from datetime import timedelta

import pytest

from heatlite.common import allowance, commits, exception, metrics, runtime, turns
from heatlite.common.context import RequestContext
from heatlite.rpc import messages, server, slots
from heatlite.rpc.slots import Slots
from heatlite.testing.runtime import Universe

THREADS = 1024
SLOTS, SHARE, THREADS_OF_PROJECT = 64, 21, 128
PATIENCE = 60.0


class Engine:
    """Answers messages by `work`, in virtual time. `answers`: project -> names of errors, None for others."""

    def __init__(self, monkeypatch, work, seed=1):
        self.universe = Universe(seed)
        self.runtime = self.universe.process('engine')
        monkeypatch.setattr(runtime, '_current', self.runtime)
        self.slots = Slots(self.runtime, THREADS)
        self.work = work
        self.most = Counter()
        self.running = Counter()
        self.answers = {}
        self.elsewhere = 0

    def handle(self, context, message):
        project = context.project_id
        self.running[project] += 1
        self.most[project] = max(self.most[project], self.running[project])
        try:
            return self.work(self, context, message)
        finally:
            self.running[project] -= 1

    def send(self, project, message=messages.ValidateTemplate, count=1, seconds=PATIENCE, stack_project=None):
        context = {**RequestContext(project_id=project, overwrite=False).to_dict(),
                   messages.STACK_PROJECT: stack_project,
                   messages.DEADLINE: (self.runtime.now() + timedelta(seconds=seconds)).isoformat()}
        arguments = {'stack_id': 's'} if message is messages.DeleteStack else {}

        def request():
            found = server.answer(self, context, message.method(), arguments, slots=self.slots)
            self.elsewhere += found.get('elsewhere', False)
            self.answers.setdefault(project, Counter())[found.get('error', {}).get('name')] += 1
        for _ in range(count):
            self.runtime.spawn(request)

    def answered(self, project):
        return self.answers.get(project, Counter()).total()

    def runs_until(self, condition):
        assert self.universe.run(condition)


def for_ever(engine, context, _message):
    if context.project_id == 'hostile':
        engine.runtime.sleep(1e6)
    return 'answer'


@pytest.fixture
def engine(monkeypatch):
    made = []

    def make(work):
        made.append(Engine(monkeypatch, work))
        return made[-1]
    yield make
    for each in made:
        each.universe.close()


@pytest.mark.parametrize('message', [messages.PreviewStack, messages.CreateStack])
def test_requests_that_never_end_take_a_share_and_end_at_their_deadline(engine, message):
    it = engine(for_ever)
    it.send('hostile', message, THREADS_OF_PROJECT + 20)
    it.runs_until(lambda: it.answered('hostile') == 20)
    assert it.answers['hostile'] == {'EngineIsFull': 20}
    assert it.elsewhere == 20
    it.send('neighbour', messages.CreateStack, 21)
    it.runs_until(lambda: it.answered('neighbour') == 21)
    assert it.answers['neighbour'] == {None: 21}
    assert it.universe.time < PATIENCE
    it.runs_until(lambda: it.answered('hostile') == THREADS_OF_PROJECT + 20)
    assert it.answers['hostile']['TooLate'] == THREADS_OF_PROJECT
    assert it.most['hostile'] == SHARE
    assert it.universe.time < 2 * PATIENCE
    it.send('hostile')
    it.work = lambda *_arguments: 'answer'
    it.runs_until(lambda: it.answers['hostile'][None] == 1)         # nothing of the others is left


def test_users_inside_all_stacks_of_a_project_have_one_share_beside_that_of_the_project(engine):
    it = engine(lambda it, context, _message: it.runtime.sleep(1e6 if context.project_id.startswith('users') else 1))
    for number in range(8):
        it.send(f'users of {number}', count=THREADS_OF_PROJECT // 8 + 5, stack_project='p')
    it.runs_until(lambda: sum(each['EngineIsFull'] for each in it.answers.values()) == 8 * 5)
    assert it.running.total() == SHARE
    for project in ('p', 'neighbour'):
        it.send(project, count=SHARE)
        it.runs_until(lambda project=project: it.answered(project) == SHARE)
        assert it.answers[project] == {None: SHARE}
    assert it.universe.time < PATIENCE


def test_a_slot_goes_to_the_first_that_may_have_it(engine):
    it = engine(lambda it, context, _message: it.runtime.sleep(1))
    for project in ('a', 'b', 'c', 'd'):
        it.send(project, count=30)
    it.runs_until(lambda: sum(map(it.answered, 'abcd')) == 120)
    assert {project: it.answers[project] for project in 'abcd'} == {project: {None: 30} for project in 'abcd'}
    assert max(it.most.values()) == SHARE
    assert not it.slots._taken.total() and not it.slots._present.total() and not it.slots._waiting


def test_a_burst_of_one_project_waits_for_its_turns(engine):
    it = engine(lambda it, _context, _message: it.runtime.sleep(1))
    it.send('p', count=THREADS_OF_PROJECT)
    it.runs_until(lambda: it.answered('p') == THREADS_OF_PROJECT)
    assert it.answers['p'] == {None: THREADS_OF_PROJECT}
    assert it.most['p'] == SHARE


def test_metrics_count_the_requests_that_wait_for_a_slot(engine):
    def counted():
        return metrics.rpc_waiting_for_slot._value.get() - waiting, metrics.rpc_running._value.get() - running

    it, waiting, running = engine(for_ever), 0, 0
    waiting, running = counted()                    # of engines of other tests, which were killed
    it.send('hostile', count=SHARE + 5)
    it.runs_until(lambda: len(it.slots._waiting) == 5)
    assert counted() == (5, SHARE + 5)              # their time is that of a call, too
    it.runs_until(lambda: it.answered('hostile') == SHARE + 5)
    assert counted() == (0, 0)


def test_requests_of_several_projects_leave_threads_to_others():
    made = Slots(runtime.current(), THREADS)
    assert 7 * made.most_threads_of_share < THREADS
    assert made.most_slots_of_share < made.most_threads_of_share


def test_a_request_that_waits_for_others_gives_its_slot_back_once(engine):
    def wait(it, context, _message):
        if context.project_id == 'waits':
            slots.release()
            slots.release()
            it.runtime.sleep(50)
    it = engine(wait)
    it.send('waits', count=THREADS_OF_PROJECT)
    it.runs_until(lambda: it.running['waits'] == THREADS_OF_PROJECT)
    assert not it.slots._taken.total()
    it.send('other')
    it.runs_until(lambda: it.answered('other') == 1)
    assert it.answered('waits') == 0
    it.runs_until(lambda: it.answered('waits') == THREADS_OF_PROJECT)
    assert not it.slots._taken.total() and not it.slots._present.total() and not it.slots._waiting
    slots.release()                                 # without a request nothing happens
    slots.take_again(0)


def test_a_request_that_works_after_all_takes_a_slot_again(engine):
    most = []

    def work(it, _context, _message):
        slots.release()
        it.runtime.sleep(1)
        for _ in range(2):
            slots.take_again(50)
        most.append(it.slots._taken.total())
        it.runtime.sleep(1)
    it = engine(work)
    it.send('p', count=THREADS_OF_PROJECT)
    it.runs_until(lambda: it.answered('p') == THREADS_OF_PROJECT)
    assert it.answers['p'] == {None: THREADS_OF_PROJECT} and max(most) == SHARE
    assert not it.slots._taken.total() and not it.slots._present.total() and not it.slots._waiting


def test_a_request_that_gets_no_slot_again_is_too_late(engine):
    def work(it, _context, _message):
        if it.running['p'] == 1:
            slots.release()
            it.send('p', count=SHARE)
            it.runtime.sleep(1)
            slots.take_again(1)
        it.runtime.sleep(10)
    it = engine(work)
    it.send('p')
    it.runs_until(lambda: it.answered('p') == SHARE + 1)
    assert it.answers['p'] == {None: SHARE, 'TooLate': 1} and not it.slots._taken.total()


def test_an_engine_whose_slots_are_taken_for_ever_is_found(engine):
    def stubborn(it, _context, _message):
        with allowance.held():                      # as a type that nothing can end
            it.runtime.sleep(1000)
    it = engine(stubborn)
    for number in range(SLOTS // SHARE):
        it.send(f'p{number}', count=SHARE)
    it.send('last', count=2)
    it.runs_until(lambda: it.running.total() == it.slots.slots)
    assert it.slots.full_seconds() < PATIENCE
    it.runtime.spawn(it.runtime.sleep, 100)
    it.runs_until(lambda: it.universe.time > 100)
    assert it.slots.full_seconds() > PATIENCE
    it.runs_until(lambda: it.running.total() == 0)
    assert it.slots.full_seconds() == 0


def store(it, context, message):
    """As a request that is accepted: it waits for a service, then stores, then goes on."""
    it.runtime.sleep(it.before)
    with turns.held():
        it.runtime.sleep(it.within)
        commits.begin()
    it.runtime.sleep(it.after)
    return 'stored'


@pytest.mark.parametrize('before, within, after, error', [
    (100, 0, 0, 'TooLate'), (50, 100, 0, None), (1, 1, 100, None), (59, 0.5, 100, None)])
def test_a_request_that_stores_ends_before_its_transaction_only(engine, before, within, after, error):
    it = engine(store)
    it.before, it.within, it.after = before, within, after
    it.send('p', messages.DeleteStack)
    it.runs_until(lambda: it.answered('p') == 1)
    assert it.answers['p'] == {error: 1}


def test_a_read_ends_after_its_transactions(engine):
    it = engine(store)
    it.before, it.within, it.after = 1, 1, 1000
    it.send('p')
    it.runs_until(lambda: it.answered('p') == 1)
    assert it.answers['p'] == {'TooLate': 1}


def test_code_that_handles_all_errors_does_not_handle_the_end(engine):
    def work(it, _context, _message):
        for _ in range(1000):
            try:
                it.runtime.sleep(50)
            except Exception:
                pytest.fail('it went on')
    it = engine(work)
    it.send('p')
    it.runs_until(lambda: it.answered('p') == 1)
    assert it.answers['p'] == {'TooLate': 1}


def test_the_clean_up_of_a_request_that_is_ended_may_take_some_time(engine):
    cleaned = []

    def work(it, _context, _message):
        try:
            it.runtime.sleep(1000)
        finally:
            it.runtime.sleep(allowance.AGAIN - 2 * allowance.POLL_SECONDS)
            cleaned.append(it.universe.time)
            it.runtime.sleep(1000)                  # this is too long
    it = engine(work)
    it.send('p')
    it.runs_until(lambda: it.answered('p') == 1)
    assert it.answers['p'] == {'TooLate': 1} and len(cleaned) == 1
    assert it.universe.time < PATIENCE + 2 * allowance.AGAIN


def test_a_request_that_may_not_be_ended_at_its_deadline_ends_soon_after(engine):
    def work(it, _context, _message):
        with allowance.held():
            it.runtime.sleep(PATIENCE + 10)
        it.runtime.sleep(1000)
    it = engine(work)
    it.send('p')
    it.runs_until(lambda: it.answered('p') == 1)
    assert it.answers['p'] == {'TooLate': 1}
    assert it.universe.time <= PATIENCE + 10 + allowance.POLL_SECONDS


@pytest.mark.parametrize('late', [0.5, 100])
def test_a_message_that_is_too_old_is_not_executed(engine, late):
    """Such as one that was in the queue of an engine that died, and is delivered once more."""
    it = engine(lambda *_arguments: pytest.fail('it was executed'))
    for message in (messages.DeleteStack, messages.CreateStack, messages.ValidateTemplate):
        it.send('p', message, seconds=-late)
    it.runs_until(lambda: it.answered('p') == 3)
    assert it.answers['p'] == {'TooLate': 3}


def test_one_that_waits_for_a_slot_until_its_time_is_over_is_not_executed(engine):
    it = engine(for_ever)
    it.send('hostile', count=SHARE)
    it.runs_until(lambda: it.running['hostile'] == SHARE)
    it.send('hostile', messages.CreateStack, seconds=5)
    it.runs_until(lambda: it.answered('hostile') == 1)
    assert it.answers['hostile'] == {'TooLate': 1}
    assert it.most['hostile'] == SHARE


def test_a_request_may_fetch_some_urls_within_its_time(engine):
    fetched = []

    def work(it, _context, _message):
        mine = allowance.current()
        for _ in range(3):
            assert mine.fetched('http://same', lambda seconds: fetched.append(seconds) or 'text', 60) == 'text'
        for number in range(allowance.MOST_URLS - 1):
            mine.fetched(f'http://{number}', lambda seconds: fetched.append(seconds) or 'text', 20)
        mine.fetched('http://operator', lambda seconds: 'text', 60, counts=False)
        with pytest.raises(exception.RequestLimitExceeded):
            mine.fetched('http://more', pytest.fail, 60)
        mine = allowance.Allowance(it.runtime, 10)
        it.runtime.sleep(4)
        assert mine.fetched('a', str, 60) == '6.0'
        it.runtime.sleep(7)
        with pytest.raises(exception.TooLate):
            mine.fetched('b', pytest.fail, 60)
    it = engine(work)
    it.send('p')
    it.runs_until(lambda: it.answered('p') == 1)
    assert it.answers['p'] == {None: 1}
    assert fetched == [60, *[20] * (allowance.MOST_URLS - 1)]
