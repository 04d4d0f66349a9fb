"""A second process of the Keystone of `tools/keystone`, whose tokens live as long as a test can wait."""

import contextlib
import re

from tests.system import service
from tests.system.processes import Program, answers, free_port

HOST = '127.0.0.1'


@contextlib.contextmanager
def of_short_tokens(folder, seconds):
    """Its URL. It shares users, projects and keys with the first: each accepts the tokens of the other."""
    first = (service.FOLDER / 'keystone.conf').read_text()
    (folder / 'keystone.conf').write_text(re.sub(r'(?m)^expiration = .*', f'expiration = {seconds}', first))
    port = free_port()
    program = Program(
        folder / 'keystone.log', service.FOLDER / 'venv/bin/uwsgi', '--http-socket', f'{HOST}:{port}',
        '--module', 'keystone.wsgi.api:application', '--master', '--processes', '1', '--threads', '1',
        '--enable-threads', '--lazy-apps', '--need-app', '--die-on-term', '--buffer-size', '65535',
        '--add-header', 'Connection: close', '--disable-logging',
        OS_KEYSTONE_CONFIG_DIR=str(folder), PYTHONWARNINGS='ignore')
    try:
        answers(f'http://{HOST}:{port}/v3')
        yield f'http://{HOST}:{port}/v3'
    finally:
        program.kill()
