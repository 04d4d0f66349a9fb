"""Two cells of real processes: one API, an engine for each database; a project is moved in the middle of its work."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

import pytest
import sqlalchemy as sa

from tests.system import databases
from tests.system.cluster import Cluster
from tests.system.processes import OPENER, PATIENCE, ask, eventually, finished

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
MOVED, STAYS = 'alpha', 'beta'
THINGS = 150
SECONDS = 25                            # until each is made: longer than the move takes, on a busy machine as well


class Cells(Cluster):
    """The home cell, and the cell `east` with an engine of its own."""

    def __init__(self, folder, server, rabbit):
        self.east_name = f'heatlite_{uuid.uuid4().hex[:12]}'
        self.east = databases.create(server, self.east_name)
        super().__init__(folder, server, rabbit, engines=1, cells__names='east', cell_east__connection=self.east,
                         cell_east__transport_url=rabbit, cell_east__topic=self.east_name)
        with self.stopped_if_it_fails():
            self.engines.append(self._start(
                'engine-east', 'heatlite.cmd.engine', '--workers', '1', '--set', f'database.connection={self.east}',
                '--set', f'engine.topic={self.east_name}'))
            self.engines[-1].said('takes requests')

    def stop(self):
        super().stop()
        databases.drop(self._server, self.east_name)

    def of(self, project):
        return f'http://127.0.0.1:{self.port}/v1/{project}'

    def make(self, project, name, template):
        status, found = ask('POST', f'{self.of(project)}/stacks', {'stack_name': name, 'template': template})
        assert status == 201, (status, found)
        return f"{self.of(project)}/stacks/{name}/{found['stack']['id']}"

    def move(self, project, cell):
        """What heatlite-manage prints."""
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(self.file), 'cells',
             'move', project, cell], cwd=self.code, capture_output=True, text=True,
            env={**os.environ, 'PYTHONPATH': str(self.code)})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stacks_of(self, url):
        """The stacks in a database: {project: number}."""
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            found = {row[0]: row[1] for row in connection.exec_driver_sql(
                'SELECT project_id, count(*) FROM stack GROUP BY project_id')}
        engine.dispose()
        return found


class Client(threading.Thread):
    """Sends requests until it is stopped; `answers`: (time, status, Retry-After)."""

    def __init__(self, pause=0.05):
        super().__init__(daemon=True)
        self.answers = []
        self._pause = pause
        self._is_over = threading.Event()

    def run(self):
        while not self._is_over.wait(self._pause):
            self.once()

    @contextlib.contextmanager
    def running(self):
        self.start()
        try:
            yield
        finally:
            self._is_over.set()
            self.join()

    def send(self, method, url, body=None):
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={'Content-Type': 'application/json'})
        try:
            with OPENER.open(request, timeout=PATIENCE) as answer:
                answer.read()
                found = answer.status, None
        except urllib.error.HTTPError as error:
            found = error.code, error.headers.get('Retry-After')
        self.answers.append((time.monotonic(), *found))
        return found[0]


class Reader(Client):
    def __init__(self, *urls):
        super().__init__()
        self.urls = urls

    def once(self):
        for url in self.urls:
            self.send('GET', url)


class Writer(Client):
    """Updates a stack again and again; `last`: the note of the last update that was accepted."""

    def __init__(self, url):
        super().__init__(0.2)
        self.url = url
        self.count = 0
        self.last = None

    def once(self):
        self.count += 1
        note = f'note-{self.count}'
        if self.send('PUT', self.url, {'template': entries(1, 0, note)}) == 202:
            self.last = note


def entries(count, seconds, note=''):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'r{n}': {'type': 'Test::Ledger::Entry', 'properties': {'seconds': seconds, 'note': note}}
        for n in range(count)}}


@pytest.fixture
def cells(tmp_path):
    if not (RABBIT and databases.SERVERS['mariadb']):
        pytest.skip('needs RabbitMQ and MariaDB: tools/services up')
    made = Cells(tmp_path, databases.SERVERS['mariadb'], RABBIT)
    yield made
    made.stop()


def test_a_project_is_moved_with_its_stacks_while_they_run(cells):
    cells.move(STAYS, 'east')                               # before it has anything
    theirs = cells.make(STAYS, 'theirs', entries(5, 0))
    small = cells.make(MOVED, 'small', entries(1, 0))
    assert finished(theirs) == finished(small) == 'CREATE_COMPLETE'
    assert (cells.stacks_of(cells.database_url), cells.stacks_of(cells.east)) == ({MOVED: 1}, {STAYS: 1})
    hosts = {each['engine_id'] for each in cells.services()}
    assert len(hosts) == 2                                  # of both cells

    large = cells.make(MOVED, 'large', entries(THINGS, SECONDS))
    eventually('half of the things', lambda: len(cells.entries()) >= THINGS // 2)
    reader, writer = Reader(large, f'{large}/resources', small, f'{cells.of(MOVED)}/stacks'), Writer(small)
    other = Reader(theirs)
    with reader.running(), writer.running(), other.running():
        eventually('an update', lambda: writer.last)
        print(cells.move(MOVED, 'east'))
        here = len(writer.answers)
        eventually('updates in the new cell', lambda: sum(
            status == 202 for _at, status, _after in writer.answers[here:]) > 3)
        cells.engines[-1].said('Taking over stack large ')          # it was in the middle of its work
    assert (finished(large), finished(small)) == ('CREATE_COMPLETE', 'UPDATE_COMPLETE')

    assert {status for _at, status, _after in (*reader.answers, *other.answers)} == {200}
    assert {status for _at, status, _after in writer.answers} == {202}      # they wait for the end of the move
    print(f'{len(writer.answers)} updates, {len(reader.answers)} reads')

    made = cells.entries()
    assert set(made.values()) == {1}                        # nothing was made twice
    assert len(made) == THINGS + 1 + 5                      # nothing is missing, or was replaced after its update
    changes = [line.split() for line in cells.ledger.read_text().splitlines() if line.startswith('changed')]
    assert changes[-1][-1] == writer.last
    assert cells.stacks_of(cells.database_url) == {}
    assert cells.stacks_of(cells.east) == {MOVED: 2, STAYS: 1}
    _status, found = ask('GET', f'{large}/resources')
    assert {each['resource_status'] for each in found['resources']} == {'CREATE_COMPLETE'}
    assert len(found['resources']) == THINGS
    assert 'is in cell "east"' in cells.move(MOVED, 'east')
