"""A stack that does not exist yet, with all it has inside, as previews of it show it (REST specification 8.3)."""

from __future__ import annotations

from collections import deque
from typing import Any

from heatlite.engine import showing
from heatlite.language import lint
from heatlite.language.facts import TypeCatalog, TypeFacts
from heatlite.language.unknown import is_known
from heatlite.rpc import messages


def shown(checker: lint.Checker, message: messages.CreateStack, username: str | None, created: str) -> dict[str, Any]:
    """`checker`: of the definition. `created`: a time as clients read it."""
    definition = checker.definition
    identity = showing.identity(definition)
    return {
        'id': str(definition.identity.id),
        'stack_identity': dict(identity), 'stack_name': identity.stack_name, 'creation_time': created,
        'updated_time': None, 'deletion_time': None, 'stack_owner': username, 'parent': None,
        'stack_user_project_id': None, 'notification_topics': [], 'parameters': definition.parameters.shown(),
        'description': definition.description, 'template_description': definition.description, 'capabilities': [],
        'disable_rollback': message.disable_rollback, 'timeout_mins': message.timeout_mins,
        'tags': list(message.tags or ()),
        'outputs': [{'output_key': name, 'description': output.description, 'output_value': None}
                    for name, output in definition.outputs.items()],
        'resources': _resources(checker, checker.types)}


def _resources(checker: lint.Checker, types: TypeCatalog, parent: str | None = None) -> list[Any]:
    """Resources; in the place of one that has a stack inside, the list of those."""
    definition = checker.definition
    deque(checker.complaints(), maxlen=0)           # it learns the types on the way; the complaints were told before
    needed_by = showing.required_by(definition)
    found: list[Any] = []
    for name, resource in definition.resources.items():
        child = checker.child(resource)
        if child is not None:
            inner = lint.Checker(child, types, values=False, look_inside=False, depth=checker.depth + 1,
                                 memory=checker.memory)
            found.append(_resources(inner, types, name))
            continue
        raw = showing.wanted(name, definition, needed_by)
        facts = checker.facts.get(name)
        if facts is not None:
            raw |= {'attributes': _attributes(facts), 'properties': _properties(checker.guessed(resource))}
        found.append(raw if parent is None else {**raw, 'parent_resource': parent})
    return found


def _attributes(facts: TypeFacts) -> dict[str, None]:
    return {name: None for name in facts.attributes if name != 'show' and name not in facts.hidden_attributes}


def _properties(values: dict[str, Any]) -> dict[str, Any]:
    """What is not known yet is empty."""
    return {name: value if is_known(value) else None for name, value in values.items()}
