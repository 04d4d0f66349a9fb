"""A template that takes the place of a type for one resource must have what that type promises - whether the type is a
class or a template itself."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.requests import validation
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language.environment import Environment

FACADE = '''
heat_template_version: 2018-08-31
parameters: {foo: {type: string}, many: {type: number, default: 1}}
outputs: {here-it-is: {value: 1}}
'''
CASES = [
    (FACADE, None),
    (FACADE.replace('here-it-is', 'other'), 'Attribute here-it-is for facade My::T missing in provider'),
    (FACADE.replace('foo: {type: string}, ', ''), 'Required property foo for facade My::T missing in provider'),
    (FACADE.replace(', many: {type: number, default: 1}', ''), None),
    (FACADE.replace('number, default: 1', 'json'), 'Property many type mismatch between facade My::T .* and provider'),
    (FACADE.replace('foo:', 'new: {type: string}, foo:'), 'Provider requires property new unknown in facade My::T'),
    (FACADE.replace('outputs: {', 'outputs: {more: {value: 2}, '), None),
]


@pytest.mark.parametrize('level', ['the user', 'the operator'])
@pytest.mark.parametrize('provider, text', CASES)
def test_a_provider_has_what_the_facade_promises(types, provider, text, level, tmp_path):
    files = {'facade.yaml': FACADE, 'concrete.yaml': provider}
    registry = {'resources': {'r': {'My::T': 'concrete.yaml'}}}
    if level == 'the user':
        registry['My::T'] = 'facade.yaml'
    else:
        (tmp_path / 'facade.yaml').write_text(FACADE)
        types.register('My::T', (tmp_path / 'facade.yaml').as_uri())
    document = {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'My::T', 'properties': {'foo': 'a'}}}}
    definition = definitions.build(
        templates.from_mapping(document), Environment({'resource_registry': registry}, types.operator), files,
        definitions.StackIdentity('s', None, 'p'))
    context = RequestContext(project_id='p', overwrite=False)
    if text is None:
        validation.check_request(definition, types, context)
    else:
        with pytest.raises(exception.StackValidationFailed, match=text):
            validation.check_request(definition, types, context)
