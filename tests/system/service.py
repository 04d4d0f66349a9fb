"""A heatlite-all of our own for clients, with nobody asking who they are, or behind a real Keystone."""

import contextlib
import os
import pathlib

from keystoneauth1 import adapter, exceptions, session
from keystoneauth1.identity import v3

from tests.system.processes import Program, free_port

KEYSTONE = os.environ.get('HEATLITE_TEST_KEYSTONE_URL')
FOLDER = pathlib.Path(os.environ.get('HEATLITE_TEST_KEYSTONE_DIR', '/nonexistent'))
OPTIONS = '[DEFAULT]\nenable_stack_abandon = true\nenable_stack_adopt = true\n'


@contextlib.contextmanager
def running(folder, identity, *more):
    """The environment in which an OpenStack client finds it. `identity`: none or keystone."""
    options = folder / 'options.conf'
    options.write_text(OPTIONS)
    port = free_port()
    files = [options] if identity == 'none' else [FOLDER / 'heatlite.conf', options]
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', port, '--auth', identity,
                      *(part for file in files for part in ('--config-file', file)), *more,
                      module='heatlite.cmd.all_in_one')
    try:
        assert program.process.stdout.readline(), program.log.read_text()
        if identity == 'none':
            yield {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': f'http://127.0.0.1:{port}/v1/admin'}
        else:
            with catalogued(f'http://127.0.0.1:{port}/v1/%(tenant_id)s') as region:
                yield login('demo', region)
    finally:
        program.kill()


def login(user, region):
    return {'OS_AUTH_URL': KEYSTONE, 'OS_USERNAME': user, 'OS_PASSWORD': 'secret', 'OS_PROJECT_NAME': user,
            'OS_USER_DOMAIN_ID': 'default', 'OS_PROJECT_DOMAIN_ID': 'default', 'OS_REGION_NAME': region,
            'OS_IDENTITY_API_VERSION': '3', 'OS_AUTH_TYPE': 'password'}


def admin(url=KEYSTONE):
    """The Keystone at `url`, as its administrator."""
    return adapter.Adapter(session.Session(auth=v3.Password(
        auth_url=url, username='admin', password='secret', project_name='admin', user_domain_id='default',
        project_domain_id='default')), service_type='identity', interface='public', endpoint_override=url)


def retry_until_available(call):
    """What `call()` gives. A busy Keystone with threads has judged a request by the scope of another one: an
    administrator who is refused asks again, as one whose connection was cut."""
    for _attempt in range(4):
        with contextlib.suppress(exceptions.Forbidden, exceptions.ConnectFailure):
            return call()
    return call()


@contextlib.contextmanager
def catalogued(url, kind='orchestration'):
    """A region in which the service has this URL, and Keystone its own."""
    keystone = admin()
    region = keystone.post('/regions', json={'region': {'description': 'a test'}}).json()['region']['id']
    made = []
    for service_type, place in ((kind, url), ('identity', KEYSTONE)):
        service = keystone.get(f'/services?type={service_type}').json()['services'][0]['id']
        made.append(keystone.post('/endpoints', json={'endpoint': {
            'region_id': region, 'service_id': service, 'interface': 'public', 'url': place}}).json()['endpoint']['id'])
    try:
        yield region
    finally:
        for endpoint in made:
            retry_until_available(lambda endpoint=endpoint: keystone.delete(f'/endpoints/{endpoint}'))
        retry_until_available(lambda: keystone.delete(f'/regions/{region}'))
