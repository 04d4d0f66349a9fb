"""A listening heatlite-all is asked whatever its own description allows, and things it does not allow.

Never a fault of the service, never an answer that is not as described. Half of the requests name stacks that exist.
"""

import os

import pytest

schemathesis = pytest.importorskip('schemathesis')
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402

from heatlite.api import openapi, routes  # noqa: E402
from tests.system.processes import Program, ask, finished  # noqa: E402

TEMPLATE = {
    'heat_template_version': '2018-08-31', 'parameters': {'length': {'type': 'number', 'default': 8}},
    'resources': {'number': {'type': 'OS::Heat::RandomString', 'properties': {'length': {'get_param': 'length'}}},
                  'lamp': {'type': 'OS::Heat::TestResource'}},
    'outputs': {'number': {'value': {'get_attr': ['number', 'value']}}}}
EXAMPLES = int(os.environ.get('HEATLITE_TEST_EXAMPLES', 4))      # requests made up for each operation
KNOWN = {}                  # path parameter -> a value that exists


@pytest.fixture(scope='module')
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp('fuzz')
    options = folder / 'options.conf'
    options.write_text('[DEFAULT]\nenable_stack_abandon = true\nenable_stack_adopt = true\n')
    program = Program(folder / 'log', '--state-dir', folder / 'state', '--port', '0', '--config-file', options,
                      module='heatlite.cmd.all_in_one')
    said = program.process.stdout.readline().split()
    assert said, program.log.read_text()
    base = f'{said[-1]}/v1'
    KNOWN.update(known(f'{base}/admin'))
    yield base
    program.kill()


def known(project):
    """Makes one of each, and names them."""
    made = ask('POST', f'{project}/stacks', {'stack_name': 'known', 'template': TEMPLATE})[1]['stack']
    url = made['links'][0]['href']
    finished(url)
    snapshot = ask('POST', f'{url}/snapshots', {})[1]
    finished(url)
    return {'tenant_id': 'admin', 'stack_name': 'known', 'stack_id': made['id'], 'resource_name': 'lamp',
            'output_key': 'number', 'snapshot_id': snapshot['id'], 'type_name': 'OS::Heat::RandomString',
            'version': 'heat_template_version.2018-08-31',
            'event_id': ask('GET', f'{url}/events?resource_name=lamp')[1]['events'][0]['id']}


def name_what_exists(_context, path_parameters):
    """As long as the generated values are not odd in themselves."""
    if path_parameters and sum(map(ord, str(path_parameters))) % 2:
        return {**path_parameters, **{name: KNOWN[name] for name in path_parameters if name in KNOWN}}
    return path_parameters


schema = schemathesis.openapi.from_dict(openapi.document(routes.TABLE))
schema.hook('map_path_parameters')(name_what_exists)
# What a schema cannot say: a template that means nothing, a state that does not allow the action.
NOT_SAID = [schemathesis.checks.CHECKS.get_one('positive_data_acceptance')]
# What takes away comes last, the whole stack at the very end.
OPERATIONS = sorted((each.ok() for each in schema.get_all_operations()),
                    key=lambda each: (each.method == 'delete', -each.path.count('/')))


@pytest.mark.parametrize('operation', [pytest.param(each, id=each.label) for each in OPERATIONS])
def test_as_described(base, operation):
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
              phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy())
    def holds(case):
        case.call_and_validate(base_url=base, allow_redirects=False, excluded_checks=NOT_SAID)

    holds()
