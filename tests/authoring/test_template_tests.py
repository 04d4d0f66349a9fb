"""heatlite-test: files with tests of templates, their errors, and a run with faults against the simulated cloud."""

from __future__ import annotations

from xml.etree import ElementTree as tree

import pytest

from heatlite.authoring import suites
from heatlite.cmd import template_test as command
from tests.architecture import source

TEMPLATE = '''heat_template_version: 2021-04-16
parameters:
  image: {type: string, default: cirros}
  name: {type: string, default: web}
  flavor: {type: string, default: m1.tiny}
resources:
  web:
    type: OS::Nova::Server
    properties:
      name: {get_param: name}
      image: {get_param: image}
      flavor: {get_param: flavor}
      networks: [{network: private}]
outputs:
  name: {value: {get_attr: [web, name]}}
'''
TESTS = '''tests:
  - name: good
    steps:
      - action: create
        plan: {web: create}
        resources: {web: CREATE_COMPLETE}
        calls: {compute POST /v2.1/servers: 1}
        outputs: {name: {matches: '^we'}}
      - action: update
        parameters: {name: other}
        plan: {web: update}
        calls: {compute POST /v2.1/servers: 0}
        outputs: {name: other}
      - action: update
        parameters: {image: nope}
        refused: nope
      - action: delete
        plan: {web: delete}
  - name: good with faults
    steps:
      - action: create
        faults:
          - {kind: fail, service: compute, method: POST, path: '*/servers', text: No valid host}
        status: CREATE_FAILED
        reason: No valid host
        resources: {web: CREATE_FAILED}
      - action: update
        plan: {web: replace}
  - name: wrong
    steps:
      - action: create
        faults: [{kind: error, service: dns}]
        plan: {web: replace, db: create}
        outputs: {name: nope}
        status: CREATE_FAILED
      - action: delete
'''


def suite(tmp_path, text):
    file = tmp_path / 'web.test.yaml'
    file.write_text(text)
    return suites.read(str(file))


@pytest.mark.parametrize('text, message', [
    ('tests: [', 'while parsing'),
    ('test: []', '1:1: unknown key "test" (did you mean "tests"?)'),
    ('template: a.yaml', '1:1: "tests" is missing'),
    ('tests:\n  - name: a\n    step: []', '3:5: unknown key "step" (did you mean "steps"?)'),
    ('tests:\n  - name: a\n    steps: {}', '3:5: expected a list for "steps"'),
    ('tests:\n  - name: a\n    steps:\n      - action: creat', '4:9: expected one of create, update'),
    ('tests:\n  - name: a\n    steps:\n      - {action: create, faults: [1]}', '4:35: expected a map with a kind'),
], ids=range(7))
def test_a_wrong_file_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(suites.WrongSuite) as caught:
        suite(tmp_path, text)
    assert message in str(caught.value) and 'web.test.yaml' in str(caught.value)


def test_the_template_stands_beside_the_tests(tmp_path):
    found = suite(tmp_path, TESTS)
    assert found.template == str(tmp_path / 'web.yaml')
    assert [case.name for case in found.cases] == ['good', 'good with faults', 'wrong']


def test_tests_are_selected_and_listed(tmp_path, capsys):
    suite(tmp_path, TESTS)
    assert command.main([str(tmp_path), '-k', 'faults', '--list']) == 0
    assert capsys.readouterr().out == f'{tmp_path}/web.test.yaml:19:5: good with faults\n'
    assert command.main([str(tmp_path), '-k', 'nothing']) == 2
    assert command.main([str(tmp_path / 'missing.test.yaml')]) == 2
    assert command.main([]) == 2


@pytest.mark.thorough
def test_a_run(tmp_path, capsys):
    (tmp_path / 'web.yaml').write_text(TEMPLATE)
    suite(tmp_path, TESTS)
    report = tmp_path / 'report.xml'
    code = command.main([str(tmp_path), str(source.ROOT / 'examples' / 'tests'), '--junit', str(report)])
    printed = capsys.readouterr().out
    lines = [line.strip() for line in printed.splitlines()]
    assert lines[-1] == '3 passed, 1 failed', printed
    place = f'{tmp_path}/web.test.yaml'
    assert lines[lines.index(next(line for line in lines if line.startswith('FAILED'))) + 1:-1][:5] == [
        f'{place}:33:16: plan: web: expected "replace", found "create"',
        f'{place}:33:30: plan: db: expected "create", found nothing',
        f'{place}:35:9: status: expected CREATE_FAILED, found CREATE_COMPLETE: Stack CREATE completed successfully',
        f'{place}:34:19: outputs: name: expected "nope", found "web"',
        f'{place}:32:18: the fault met no call']
    assert code == 1
    found = tree.parse(report).getroot()
    assert [(each.get('tests'), each.get('failures')) for each in found] == [('3', '1'), ('1', '0')]
    assert len(found.findall('.//failure')) == 1
