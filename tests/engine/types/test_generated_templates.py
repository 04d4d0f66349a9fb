"""`resource type show --template-type`: what is given can be used."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.requests import offline_types
from heatlite.engine.resources import packed, packed_types
from heatlite.engine.types import catalog, generated_templates
from heatlite.engine.types.draft import DraftStack
from heatlite.language import definition as definitions
from heatlite.language import lint
from heatlite.language import template as templates
from heatlite.language.environment import Environment

OPERATOR, OFFLINE = packed_types.operator_registry(), offline_types.OfflineTypes()


class Catalog(catalog.Catalog):
    """With every service there."""

    def _available(self, kind, type_name):
        return lambda: None


@pytest.mark.parametrize('edition', ['hot', 'cfn'])
@pytest.mark.parametrize('name', sorted(packed.names()))
def test_a_template_of_a_type_is_accepted(types, name, edition):
    """As it was given: nothing is wrong with its text."""
    try:
        document = generated_templates.template_of(types.resolve(name, 'r'), name, edition)
    except exception.NotSupported:
        pytest.skip('a property of any type has no parameter')
    section = document.get('parameters', document.get('Parameters'))

    def built(operator, **options):
        return definitions.build(templates.from_mapping(document), Environment({}, operator), {},
                                 definitions.StackIdentity('s', None, 'p'), **options)

    offline = lint.check(built(OPERATOR, assume_unknown=True), OFFLINE, values=False)
    assert [str(each) for each in offline] == []                # the linter has the same opinion
    definition = built(types.operator)
    context = RequestContext(project_id='p', overwrite=False)
    catalog = Catalog(types, context, DraftStack(definition, context, types).make)
    assert [str(each) for each in lint.check(definition, catalog, values=False)] == []
    for parameter in section.values():
        assert {} not in parameter.get('constraints', [])
