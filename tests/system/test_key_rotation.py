"""The key of stored secrets is changed while users work: no request fails, and nothing of the old key is left."""

import itertools
import os
import re
import subprocess
import sys
import threading

import pytest

from tests.system import databases
from tests.system.cluster import Cluster
from tests.system.processes import ROOT, answers, eventually, insist

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
pytestmark = pytest.mark.skipif(not (RABBIT and databases.FIRST),
                                reason='needs RabbitMQ and a database: tools/services up')

OLD, NEW = '0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210'
TEMPLATE = {
    'heat_template_version': '2018-08-31', 'parameters': {'word': {'type': 'string', 'hidden': True}},
    'resources': {'text': {'type': 'OS::Heat::RandomString'},
                  'value': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'word'}}}},
    'outputs': {'text': {'value': {'get_resource': 'text'}}, 'word': {'value': {'get_attr': ['value', 'value']}}}}


class Users(threading.Thread):
    """Make stacks with secrets, update them, and read all of them again. A request that a restart cuts off (5xx) is
    sent again."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.over = url, threading.Event()
        self.wrong, self.stacks, self.done = [], {}, 0

    def run(self):
        try:
            for number in itertools.count():
                if self.over.is_set():
                    return
                self.live(number)
                self.done += 1
        except BaseException as error:
            self.wrong.append(repr(error))

    def live(self, number):
        body = {'template': TEMPLATE, 'parameters': {'word': f'first{number}'}}
        status, _found = self.sent('POST', '/stacks', {'stack_name': f's{number}', **body})
        assert status in (201, 409), status
        self.settled(number)
        self.sent('PUT', f'/stacks/s{number}/{self.id(number)}', body | {'parameters': {'word': f'second{number}'}})
        self.settled(number)
        self.stacks[number] = self.outputs(number)['text']
        for known, text in self.stacks.items():
            assert self.outputs(known) == {'text': text, 'word': f'second{known}'}, known

    def id(self, number):
        return self.sent('GET', f'/stacks/s{number}')[1]['stack']['id']

    def settled(self, number):
        found = eventually('the end of the action', lambda: not (
            state := self.sent('GET', f'/stacks/s{number}')[1]['stack']['stack_status']).endswith('PROGRESS') and state)
        assert found.endswith('COMPLETE'), found

    def outputs(self, number):
        stack = self.sent('GET', f'/stacks/s{number}')[1]['stack']
        return {each['output_key']: each['output_value'] for each in stack['outputs']}

    def sent(self, method, path, body=None):
        return insist(method, lambda: self.url + path, body)[:2]


def configure(cluster, key, *others):
    text = re.sub(r'^auth_(en|de)cryption_keys? = .*\n', '', cluster.file.read_text(), flags=re.MULTILINE)
    lines = ''.join(f'auth_decryption_keys = {each}\n' for each in others)
    cluster.file.write_text(text.replace('[DEFAULT]\n', f'[DEFAULT]\nauth_encryption_key = {key}\n{lines}', 1))


def roll(cluster):
    """Each process is followed by one with the present configuration; the users work with both kinds for a while."""
    for old in list(cluster.engines):
        cluster.start_engine().said('takes requests')
        cluster.engines.remove(old)
        assert old.stop() == 0
    cluster.restart_api(0)
    answers(f'http://127.0.0.1:{cluster.port}/')


def manage(cluster, *arguments):
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(cluster.file),
         'encryption_keys', *arguments], cwd=ROOT, check=False, capture_output=True, text=True)


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path, databases.SERVERS[databases.FIRST], RABBIT, encrypt_parameters_and_properties='true')
    yield made
    made.stop()


def test_nobody_notices(cluster):
    users = Users(cluster.url)
    users.start()

    def progress():
        before = users.done
        eventually('progress', lambda: users.wrong or users.done > before + 1)
        assert users.wrong == []

    progress()
    assert manage(cluster, 'list', '--unused', '1').returncode == 1         # there is no such key
    for keys in ((OLD, NEW), (NEW, OLD)):
        configure(cluster, *keys)
        roll(cluster)
        progress()
    assert manage(cluster, 'list', '--unused', '1').returncode == 1         # it still is
    rewritten = manage(cluster, 'reencrypt', '--batch-size', '10')
    assert rewritten.returncode == 0, rewritten.stderr
    assert int(re.search(r'Rows rewritten: (\d+)', rewritten.stdout)[1]) > 5
    listed = manage(cluster, 'list', '--unused', '1')
    assert listed.returncode == 0, listed.stdout
    assert manage(cluster, 'reencrypt').stdout.endswith('Rows rewritten: 0\n')
    configure(cluster, NEW)
    roll(cluster)
    progress()
    users.over.set()
    users.join()
    assert users.wrong == []
    for log in cluster.folder.glob('*.log'):
        text = log.read_text()
        assert 'InvalidEncryptionKey' not in text and OLD not in text and NEW not in text, log
