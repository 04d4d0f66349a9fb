"""Previews the creation of a stack with its nested stacks (docs/spec/rest.rst, "Preview of a create")."""

from __future__ import annotations

import logging
from collections import deque

from heatlite.common import exception
from heatlite.common.limits import UNLIMITED
from heatlite.engine.requests import presenters
from heatlite.engine.resources.stack_resource import StackResource, as_template
from heatlite.engine.types import tree_size
from heatlite.engine.types.catalog import Catalog
from heatlite.language import lint, nested, property_checks, reference_checks
from heatlite.language.definition import DefinedResource, StackDefinition
from heatlite.language.expression import PLACEHOLDERS
from heatlite.language.facts import TypeFacts
from heatlite.language.outputs import OutputDefinition
from heatlite.language.unknown import is_known
from heatlite.planning import graph
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)
MOST_SHOWN = 20_000                 # resources of a tree without a quota; beyond it, one member represents a group


def shown(checker: lint.Checker, types: Catalog, message: messages.CreateStack, username: str | None, created: str,
          quota: int) -> dict[str, object]:
    """Return the answer of a preview. `checker`: of the definition. `created`: the time as text for clients. `quota`:
    the most resources in a tree, or UNLIMITED.

    Raises StackResourceLimitExceeded, as the create would at a later time.
    """
    definition = checker.definition
    identity = presenters.identity(definition)
    return {
        'id': str(definition.identity.id),
        'stack_identity': dict(identity), 'stack_name': identity.stack_name, 'creation_time': created,
        'updated_time': None, 'deletion_time': None, 'stack_owner': username, 'parent': None,
        'stack_user_project_id': None, 'notification_topics': [], 'parameters': definition.parameters.shown(),
        'description': definition.description, 'template_description': definition.description, 'capabilities': [],
        'disable_rollback': message.disable_rollback, 'timeout_mins': message.timeout_mins or None,
        'tags': list(message.tags or ()),
        'outputs': [_output(output) for output in definition.outputs.values()],
        'resources': _Tree(types, quota).resources(checker)}


class _Tree:
    """Lists the resources of a tree: a resource with a nested stack is the list of that stack's resources."""

    def __init__(self, types: Catalog, quota: int) -> None:
        self._types = types
        self._quota = quota
        self._left = MOST_SHOWN if quota == UNLIMITED else quota

    def resources(self, checker: lint.Checker, parent: str | None = None) -> list[object]:
        """List the resources of one stack. Raises StackResourceLimitExceeded if the tree exceeds its quota."""
        definition = checker.definition
        deque(checker.diagnostics(), maxlen=0)       # fills the facts; the diagnostics were reported before
        needed_by = graph.dependents(
            (name, reference_checks.requires(checker, resource)) for name, resource in definition.resources.items())
        self._take(len(definition.resources))
        shown: list[object] = []
        for name, resource in definition.resources.items():
            child = self._inside(checker, resource)
            if child is not None:
                shown.append(self.resources(lint.Checker(
                    child, self._types, values=False, look_inside=False, depth=checker.depth + 1,
                    memory=checker.memory), name))
                continue
            raw = presenters.wanted(name, definition, needed_by)
            facts = checker.facts.get(name)
            if facts is not None:
                raw |= {'attributes': _attributes(facts),
                        'properties': _properties(property_checks.guessed(checker, resource))}
            raw = presenters.masked(raw, definition.mask)
            shown.append(raw if parent is None else {**raw, 'parent_resource': parent})
        return shown

    def _inside(self, checker: lint.Checker, resource: DefinedResource) -> StackDefinition | None:
        """Return the definition of a resource's nested stack as its type would make it, or None.

        If the number of members is not known yet, or too large to show, one member represents all.
        """
        if checker.found[resource.name].is_template:
            return checker.child(resource)
        try:
            asked = self._types.asked(resource)
            if isinstance(asked, StackResource) and self._has_room(getattr(asked, 'get_size', int)()):
                return nested.child_definition(
                    checker.definition, resource, as_template(asked.child_template()), asked.child_params(),
                    checker.found[resource.name].path)
        except exception.StackResourceLimitExceeded:
            raise
        except Exception as error:                  # types may fail on unknown values
            LOG.info('What will be inside %s is not known yet: %s', resource.name, error)
        return checker.child(resource)

    def _has_room(self, members: int) -> bool:
        tree_size.check(members, UNLIMITED if self._quota == UNLIMITED else self._left)
        return members <= self._left

    def _take(self, count: int) -> None:
        self._has_room(count)
        self._left -= count


def _output(output: OutputDefinition) -> dict[str, object]:
    value, _error = output.evaluated(PLACEHOLDERS)      # an error may come from a value that is not known yet
    return {'output_key': output.key, 'description': output.description, 'output_value': value}


def _attributes(facts: TypeFacts) -> dict[str, None]:
    return {name: None for name in facts.attributes if name != 'show' and name not in facts.hidden_attributes}


def _properties(values: dict[str, object]) -> dict[str, object]:
    """Replace values that are not known yet by None."""
    return {name: value if is_known(value) else None for name, value in values.items()}
