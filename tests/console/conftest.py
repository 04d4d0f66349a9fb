"""A heatlite-all with the simulated cloud, stacks to look at, and Debian's Chromium driven by Playwright."""

import shutil
import time

import pytest

from tests.console import stacks
from tests.system import wire
from tests.system.processes import Program, free_port

CHROMIUM = shutil.which('chromium')
ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
             '--disable-component-update', '--disable-sync']
# Words of the browser itself: it reports each answer that is no success, and lost connections.
EXPECTED = ('Failed to load resource', 'net::ERR_')


class Service:
    """A heatlite-all that can be killed and started again at the same place."""

    def __init__(self, folder, *more):
        self.folder, self.more = folder, more
        self.port = free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        self.cloud = ''
        self.start()

    def start(self):
        self.program = Program(self.folder / 'log', '--state-dir', self.folder / 'state', '--port', self.port,
                               '--cloud', 'simulated', *self.more, module='heatlite.cmd.all_in_one')
        assert self.program.process.stdout.readline()
        self.cloud = next(word for word in self.program.process.stdout.readline().split()
                          if word.startswith('http://')).rstrip(';')

    def ask(self, method, path, body=None):
        """The JSON of an answer of the API of project admin."""
        status, found = wire.ask(self.port, method, f'/v1/admin{path}', *stacks.encoded(body))
        assert status < 300, found
        return found

    def create(self, name, template, **more):
        """The id of a new stack."""
        return self.ask('POST', '/stacks', {'stack_name': name, 'template': template, **more})['stack']['id']

    def until(self, name, *statuses):
        """Waits until the stack has one of these statuses."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = self.ask('GET', f'/stacks?name={name}')['stacks']
            if found and found[0]['stack_status'] in statuses:
                return found[0]
            time.sleep(0.1)
        raise AssertionError(f'{name}: {found}')


@pytest.fixture(scope='session')
def service(tmp_path_factory):
    made = Service(tmp_path_factory.mktemp('console'))
    yield made
    made.program.kill()
    assert 'Traceback' not in (made.folder / 'log').read_text()


@pytest.fixture(scope='session')
def seeded(service):
    """The stacks of tests.console.stacks by name: ids."""
    return stacks.make(service)


@pytest.fixture(scope='session')
def chromium():
    if CHROMIUM is None:
        pytest.skip('no chromium here: apt-get install chromium')
    sync_api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed: the extra "test" has it')
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, request):
    """`visit(address, **options)`: a new page there. At the end: no error, no request to another host."""
    contexts, errors, hosts = [], [], set()

    def open_page(address='#/stacks', at=None, expected=(), **options):
        context = chromium.new_context(**{'viewport': {'width': 1280, 'height': 800}, 'reduced_motion': 'reduce',
                                          'locale': 'en-GB', 'timezone_id': 'UTC', **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on('pageerror', lambda error: errors.append(str(error)))
        page.on('console', lambda message: message.type in ('error', 'warning') and not any(
            each in message.text for each in (*EXPECTED, *expected)) and errors.append(message.text))
        page.on('request', lambda request: hosts.add('/'.join(request.url.split('/')[:3])))
        page.goto(f'{at or request.getfixturevalue("service").url}/console/{address}')
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
    assert all(host.startswith(('http://127.0.0.1:', 'data:')) for host in hosts), hosts
    assert len(hosts) <= 1
