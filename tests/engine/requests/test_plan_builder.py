"""Plans of what the dry runs of a tree have found."""

from __future__ import annotations

from heatlite.engine.requests import plan_builder
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.previewed_change import PreviewedChange
from heatlite.language import definition as definitions
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.masking import Mask
from heatlite.language.template import Template
from heatlite.planning.plan import PlanAction
from heatlite.planning.states import ResourceState
from tests.db import rows

DEFINITION = definitions.build(Template({'heat_template_version': '2018-08-31', 'resources': {}}), Environment(), {},
                               StackIdentity('s', 'i', 'p'))


class CountedParent(str):
    """The name of a resource with a nested stack, which counts how often it is read."""

    read = 0

    def __str__(self):
        CountedParent.read += 1
        return str.__str__(self)


def previewed(row, changes=(), inside=()):
    return PreviewedStack(row, DEFINITION, Mask(), {each.name: each for each in changes}, list(inside))


def test_the_owners_of_nested_stacks_are_read_once():
    members = [PreviewedChange(name, PlanAction.UPDATE, ResourceState(number, name, f'u{number}', 'A::B'))
               for number, name in enumerate(f'm{number}' for number in range(100))]
    nested = [previewed(rows.stack(f'n{each.name}', parent_resource=CountedParent(each.name))) for each in members[1:]]
    plan = plan_builder.build('UPDATE', previewed(rows.stack(), members, nested))
    assert [change.action for change in plan.changes] == [PlanAction.UPDATE, *[PlanAction.NONE] * 99]
    assert CountedParent.read <= 4 * len(nested)
