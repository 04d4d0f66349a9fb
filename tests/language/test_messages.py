"""Messages are sentences for people: no empty parts, no words of Python, a place for what is wrong."""

import re

import pytest

from heatlite.api import faults
from heatlite.common import exception
from heatlite.language import lint
from tests.language import run_cases
from tests.language.test_cases import CASES
from tests.language.test_lint import TYPES, build

CRYPTIC = re.compile(r': :|in None|could not convert|int\(\) argument|\S $|: $|"": ',
                     re.MULTILINE)


def messages(got):
    """All messages of the outcome of a case."""
    if 'error' in got:
        yield got['error']['message']
    yield from (got.get('output_errors') or {}).values()
    if isinstance(got.get('reason'), str):
        yield got['reason']


def test_messages_of_all_cases_can_be_read():
    """Of the operations that need no engine."""
    seen, cryptic = set(), {}
    for case in CASES:
        if case['op'] in ('resolve', 'validate', 'template_validate', 'properties', 'merge', 'registry'):
            for message in messages(run_cases.run(case).got):
                seen.add(message)
                if CRYPTIC.search(message) and not case['name'].startswith('yaql'):     # words of the library
                    cryptic[case['name']] = message
    assert len(seen) > 300
    assert not cryptic


PARTS = '''heat_template_version: 2018-08-31
parameters: {n: {type: number, default: big}, m: {type: number, default: [1]}}
resources:
  net: {type: OS::Neutron::Subnet, properties: {network: n, cidr: %s}}
  lost: {type: OS::Heat::Value, properties: {value: {get_attr: [nowhere, value]}}}
  text: {type: OS::Heat::Value, properties: {value: {str_replace: {template: x, params: {x: {get_resource: nowhere}}}}}}
outputs:
  a: {value: {get_attr: [nowhere, value]}}
  b: {value: {get_attr: [net, valu]}}
'''


@pytest.mark.parametrize('cidr, shown', [
    ('10.0.0.0/99', 'invalid IPNetwork 10.0.0.0/99'), ('10.0.0.0', '10.0.0.0'), ('x', 'invalid IPNetwork x')])
def test_each_complaint_has_a_place(cidr, shown):
    found = lint.check(build(PARTS % cidr), TYPES)
    texts = [str(each.error) for each in found]
    assert not [text for text in texts if CRYPTIC.search(text)]
    for wanted in ("Parameter 'n' is invalid: 'big' is not a number",
                   "Parameter 'm' is invalid: expected a number, found a list",
                   f"Property error: resources.net.properties.cidr: Error validating value '{cidr}': "
                   f'Invalid net cidr {shown} (expected an address with the length of its prefix, such as 10.0.0.0/24)',
                   'outputs.a.value.get_attr: The specified reference "nowhere" (in unknown) is incorrect.',
                   'outputs.b.value.get_attr: The Referenced Attribute (net valu) is incorrect.'):
        assert wanted in texts, texts


@pytest.mark.parametrize('parts, first', [
    ({'error': 'Property error', 'path': ['resources', 'r'], 'message': 'wrong'},
     'Property error: : resources.r: : wrong'),
    ({'path': ['resources'], 'message': 'wrong'}, 'resources: : wrong'),
    ({'error': 'Property error', 'message': 'wrong'}, 'Property error: : wrong'),
    ({'message': 'wrong', 'details': ['root stack:1:2: more']}, 'wrong\nroot stack:1:2: more')])
def test_an_answer_begins_in_the_form_that_clients_look_for(parts, first):
    """Heat's tests of refused previews compare it; logs and reasons have one colon."""
    error = exception.StackValidationFailed(**parts)
    assert faults.document(error)['error']['message'] == first
    assert not CRYPTIC.search(str(error))
