"""Creates and updates stacks of the cases' own types in memory, in dependency order, with nothing but the language.

No engine: no states, no failures halfway, no services. What it shows is that values, references, nested stacks and
groups come out right. `tests/language/engine_driver.py` does the same with the real engine.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from heatlite.common import exception
from heatlite.engine.resources import packed_types
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import lint, nested
from heatlite.language import template as templates
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.functions.references import select
from heatlite.language.schema import Reader
from heatlite.language.template import Template

TYPES = packed_types.PackedTypes(only_pure_constraints=False)
ID = 'abcdefghij01'


class Failed(Exception):
    """A resource that cannot be created; the text is the stack's reason."""


class Made:
    """A resource that exists."""

    def __init__(self, reference: Any, attributes: Mapping[str, Any], child: Stack | None = None,
                 members: list[str] | None = None, kind: str = '') -> None:
        self.reference, self.attributes, self.child = reference, attributes, child
        self.members, self.kind = members, kind

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        if self.child is None:
            return select(self.attributes.get(attribute), path)
        if attribute.startswith('resource.'):
            inner, _dot, rest = attribute.removeprefix('resource.').partition('.')
            if self.kind.endswith('AutoScalingGroup') and inner.isdigit():
                inner = (self.members or [])[int(inner)]
            if inner not in self.child.made:
                raise exception.NotFound(f"Member '{inner}' not found in group resource '{name}'.")
            way = [*([rest] if rest else []), *path]
            if not way:
                return self.child.reference(inner)
            return self.child.attribute(inner, str(way[0]), tuple(way[1:]))
        return self._of_members(name, attribute, path) if self.members is not None else self._output(
            name, attribute, path)

    def _output(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        assert self.child is not None
        if attribute not in self.child.definition.outputs:
            raise exception.InvalidTemplateAttribute(resource=name, key=attribute)
        return select(self.child.output(attribute), path)

    def _of_members(self, name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        child, members = self.child, self.members or []
        assert child is not None
        if attribute == 'current_size':
            return len(members)
        if attribute in ('refs', 'refs_map'):
            found = {member: child.reference(member) for member in members}
            return select(found if attribute == 'refs_map' else list(found.values()), path)
        if attribute in ('attributes', 'outputs', 'outputs_list'):
            if not path:
                raise exception.InvalidTemplateAttribute(resource=name, key=attribute)
            found = {member: child.attribute(member, str(path[0]), tuple(path[1:])) for member in members}
            return list(found.values()) if attribute == 'outputs_list' else found
        return [child.attribute(member, attribute, path) for member in members]


class Stack:
    """A stack that exists; the scope of its own expressions."""

    def __init__(self, definition: StackDefinition, updating: bool = False) -> None:
        self.definition = definition
        self.made: dict[str, Made] = {}
        checker = lint.Checker(definition, TYPES, updating=updating)
        lint.raise_first(checker.diagnostics())
        self.facts, self.found = checker.facts, checker.found
        for name in checker.order:
            try:
                self.made[name] = self._create(definition.resources[name])
            except exception.HeatException as error:
                text = f'{error.error}: ' if getattr(error, 'error', '') else ''
                raise Failed(f'Resource CREATE failed: {type(error).__name__}: resources.{name}: {text}'
                             f'{exception.path_text(getattr(error, "path", []))}: '
                             f'{getattr(error, "error_message", error)}') from None

    def reference(self, resource_name: str) -> Any:
        return self.made[resource_name].reference

    def attribute(self, resource_name: str, attribute: str, path: tuple[Any, ...]) -> Any:
        return self.made[resource_name].attribute(resource_name, attribute, path)

    def all_attributes(self, resource_name: str) -> Any:
        made = self.made[resource_name]
        if made.child is not None:
            return {key: made.child.output(key) for key in made.child.definition.outputs}
        return {key: value for key, value in made.attributes.items() if key != 'show'}

    def output(self, key: str) -> Any:
        return self.definition.outputs[key].resolve(self)

    def _create(self, resource: definitions.DefinedResource) -> Made:
        facts, found = self.facts[resource.name], self.found[resource.name]
        name = f'{self.definition.identity.name}-{resource.name}-{ID}'
        external = resource.external_id(self)
        if external is not None:
            return Made(external, {})
        given = resource.properties(self)
        if facts.accepts_any_property:
            return Made(str(uuid.uuid4()), {})
        values = Reader(lookup=TYPES.lookup).read(facts.properties, given, (resource.name, 'Properties'))
        if found.is_template:
            template = nested.template_among(str(found.target), self.definition.files, self.definition.limits)
            parameters = nested.child_parameters(facts.properties, given, values)
            return self._nested(resource, template, parameters, found.path, name)
        if facts.name in MEMBERS:
            members = MEMBERS[facts.name](resource, values)
            made = self._nested(resource, Template({'heat_template_version': '2015-04-30', 'resources': members}),
                                {}, (), name)
            made.members, made.kind = list(members), facts.name
            return made
        return SIMPLE[facts.name](name, values)

    def _nested(self, resource: definitions.DefinedResource, template: Template, parameters: Mapping[str, Any],
                used: tuple[str, ...], name: str) -> Made:
        identity = StackIdentity(name, str(uuid.uuid4()), self.definition.identity.project_id)
        child = Stack(nested.child_definition(self.definition, resource, template, parameters, used,
                                              identity=identity, scope=self))
        reference = identity.arn
        if 'OS::stack_id' in child.definition.outputs:
            reference = child.output('OS::stack_id')
        return Made(reference, {}, child)


def group(resource: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    members = {}
    for index in range(values['count']):
        snippet = {key: item for key, item in values['resource_def'].items() if item is not None}
        snippet['properties'] = packed_types._replaced(snippet.get('properties') or {}, values['index_var'], str(index))
        members[str(index)] = snippet
    return members


def chain(resource: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return packed_types.chain_members(resource, values)['resources']


def scaled(resource: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    count = values['desired_capacity'] if values['desired_capacity'] is not None else values['min_size']
    return {f'm{place}': {key: item for key, item in values['resource'].items() if item is not None}
            for place in range(count)}


MEMBERS = {'OS::Heat::ResourceGroup': group, 'OS::Heat::ResourceChain': chain, 'OS::Heat::AutoScalingGroup': scaled}
SIMPLE = {
    'OS::Heat::Value': lambda name, values: Made(name, {'value': values['value'], 'show': None}),
    'OS::Heat::TestResource': lambda name, values: Made(name, {'output': values['value'], 'show': None}),
    'OS::Heat::RandomString': lambda name, values: (lambda text: Made(text, {'value': text, 'show': None}))(
        ''.join(random.Random(0).choices('abc', k=values['length']))),
}


def create(case: Mapping[str, Any]) -> dict[str, Any]:
    return told(Stack(defined(case)), case, 'CREATE_COMPLETE')


def defined(case: Mapping[str, Any], sections: Mapping[str, Any] | None = None) -> StackDefinition:
    identity = StackIdentity('tplcase', str(uuid.uuid4()), 'project0')
    template = (templates.load(case['template']) if isinstance(case['template'], str)
                else templates.from_mapping(json.loads(json.dumps(case['template']))))
    environment = Environment(sections or environments.parse(case.get('env'), case.get('params')), OPERATOR)
    return definitions.build(template, environment, case.get('files') or {}, identity)


OPERATOR = packed_types.operator_registry()


def told(stack: Stack, case: Mapping[str, Any], state: str) -> dict[str, Any]:
    values, errors = {}, {}
    for key, output in stack.definition.outputs.items():
        value, error = output.evaluated(stack)
        if error is None:
            values[key] = value
        else:
            errors[key] = error
    told: dict[str, Any] = {'result': json.loads(json.dumps(values)), 'state': state}
    if errors:
        told['output_errors'] = errors
    show = case.get('show') or ()
    if 'resources' in show:
        told['resources'] = {name: resource.type for name, resource in stack.definition.resources.items()}
    if 'parameters' in show:
        told['parameters'] = stack.definition.parameters.shown()
    if 'environment' in show:
        told['environment'] = stack.definition.environment.shown()
    return told


def update(case: Mapping[str, Any]) -> dict[str, Any]:
    before = defined(case)
    Stack(before)
    changed = case['update']
    both = changed if case.get('patch') else {**case, **changed}
    sections = environments.parse(both.get('env'), both.get('params'))
    if case.get('patch'):
        old = before.environment
        names = templates.load(changed.get('template') or case['template']).section('parameters') or {}
        sections = {
            'parameters': {name: value for name, value in (
                {key: item for key, item in old.parameters.items() if key not in (case.get('clear_parameters') or ())}
                | sections['parameters']).items() if name in names},
            'parameter_defaults': old.parameter_defaults | sections['parameter_defaults'],
            'resource_registry': old.resource_registry | sections['resource_registry']}
    after = defined({**case, **changed}, sections)
    names = after.parameters.changed_immutables(before.parameters)
    if names:
        raise exception.ImmutableParameterModified(*names)
    return told(Stack(after, updating=True), case, 'UPDATE_COMPLETE')


def told_if_failed(operation: Callable[[Mapping[str, Any]], dict[str, Any]]
                   ) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A stack that could not be created is an answer too."""
    def run(case: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return operation(case)
        except Failed as failure:
            return {'result': {}, 'state': 'CREATE_FAILED', 'reason': str(failure)}
    return run
