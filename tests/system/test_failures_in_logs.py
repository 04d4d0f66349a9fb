"""What a failure of a tenant costs the log of the operator: a line at INFO. A defect of a plug-in: one traceback."""


import pytest

from tests.system import alone
from tests.system.processes import ask, eventually, finished

PLUGINS = alone.__file__.replace('alone.py', 'plugins')


@pytest.fixture
def service(tmp_path):
    with alone.running(tmp_path, PLUGINS) as made:
        yield made


def failing(**given):
    return {'heat_template_version': '2018-08-31', 'resources': {'bad': {'type': 'Test::Clumsy', 'properties': given}}}


def create(service, name, template):
    stack = service.create(name, template)
    assert finished(stack) == 'CREATE_FAILED'
    return eventually('the end in the log', lambda: [
        line for line in service.log.splitlines() if f'Stack {name} [' in line and '] CREATE_FAILED' in line]) and stack


def test_a_tenants_failure_is_one_line_at_info(service):
    stack = create(service, 'one', failing(refused='Quota exceeded'))
    lines = service.log.splitlines()
    told = [line for line in lines if 'Quota exceeded' in line and 'bad (Test::Clumsy) CREATE_FAILED' in line]
    assert len(told) == 1 and ' INFO ' in told[0] and stack.rsplit('/', 1)[1] in told[0] and ' admin]' in told[0]
    assert not [line for line in lines if 'Traceback' in line or ' WARNING heatlite' in line or ' ERROR ' in line]


def test_a_defect_is_one_traceback_however_often_it_strikes(service):
    for number in range(5):
        create(service, f's{number}', failing(defect='AttributeError'))
    assert service.log.count('Traceback') == 1
    assert service.log.count(' ERROR ') == 1
    assert service.log.count("AttributeError: resources.bad: 'NoneType' object") >= 5
    create(service, 'other', failing(defect='KeyError'))
    assert service.log.count('Traceback') == 2


def test_a_refused_signal_is_one_line_at_info(service):
    stack = service.create('signalled', failing())
    finished(stack)
    ask('POST', f'{stack}/resources/bad/signal', {'a': 'b'})
    line = eventually('the refusal', lambda: [each for each in service.log.splitlines() if 'was not accepted' in each])
    assert ' INFO ' in line[0] and 'Traceback' not in service.log
