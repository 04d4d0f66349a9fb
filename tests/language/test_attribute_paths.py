"""A path of get_attr may have parts that are known later: a check of a definition judges resource and attribute."""

import pytest

from tests.language.test_lint import diagnostics

PARAMETERS = 'parameters: {network: {type: string}}\nresources:\n  a: {type: OS::Heat::TestResource}\n'
MEMBER = f'''heat_template_version: 2018-08-31
{PARAMETERS}  b:
    type: OS::Heat::TestResource
    properties: {{value: {{get_attr: [a, output, {{get_param: network}}, 0]}}}}
'''


def said(text, **options):
    return [str(each.error) for each in diagnostics(text, **options)]


@pytest.mark.parametrize('version', ['2013-05-23', '2015-10-15', '2018-08-31'])
@pytest.mark.parametrize('call, wrong', [
    ('[a, output, {get_param: network}, 0]', ''), ('[a, output, {get_attr: [a, output]}]', ''),
    ('[a, nope, {get_param: network}]', 'The Referenced Attribute (a nope) is incorrect.'),
    ('[c, output, {get_param: network}]', 'The specified reference "c" (in unknown) is incorrect.')])
def test_a_part_without_a_value_is_no_error(version, call, wrong):
    found = said(f'heat_template_version: {version}\n{PARAMETERS}outputs: {{o: {{value: {{get_attr: {call}}}}}}}\n',
                 assume_unknown=True)
    assert [wrong in each for each in found] == [True] * bool(wrong), found


@pytest.mark.parametrize('given', ['{get_resource: n}', '{get_attr: [n, output]}',
                                   '{list_join: ["", [{get_attr: [n, output]}]]}'])
@pytest.mark.parametrize('outer', [
    'type: member.yaml, properties: {network: GIVEN}',
    'type: OS::Heat::ResourceGroup, properties: {resource_def: {type: member.yaml, properties: {network: GIVEN}}}'])
def test_nor_is_one_that_the_outer_stack_gives_later(given, outer):
    outer = outer.replace('GIVEN', given)
    assert said(f'heat_template_version: 2018-08-31\nresources:\n  n: {{type: OS::Heat::TestResource}}\n'
                f'  m: {{{outer}}}\n', files={'member.yaml': MEMBER}) == []
