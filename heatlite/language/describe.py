"""Makes the response of `POST /validate`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator, Mapping

from heatlite.common import exception
from heatlite.language import definition as definitions
from heatlite.language import lint
from heatlite.language.budget import shared
from heatlite.language.constraints import AllowedPattern, AllowedValues, CustomConstraint, Length, Modulo, Range
from heatlite.language.definition import StackDefinition
from heatlite.language.facts import TypeCatalog
from heatlite.language.parameters import WIRE_TYPES, Parameters, ParameterSchema
from heatlite.language.registry import RESOURCES
from heatlite.language.unknown import is_known

# Clients of POST /validate know these two errors of the template itself as HTTPBadRequest only.
TEMPLATE_ERRORS = (exception.StackValidationFailed, exception.InvalidTemplateSection)
# A group whose members are not looked at: it has none, or they are no stacks.
WITHOUT_MEMBERS = {'Description': 'No description', 'Parameters': {}}


def validation_answer(definition: StackDefinition, types: TypeCatalog, *, show_nested: bool = False,
                      ignored: Container[str] = (), take: Callable[[int], None] = lambda count: None,
                      ) -> dict[str, object]:
    """Return the response body. Raises the first error with all others, `TEMPLATE_ERRORS` as HTTPBadRequest unless they
    are in nested stacks.

    Whether the template is refused does not depend on values. `ignored`: codes of errors to ignore, such as `99001` for
    a missing service. `take`: is called with the number of resources of each stack of the tree that is shown, before
    they are looked at; it raises to refuse the tree.
    """
    checker = lint.Checker(definition, types, values=False, look_inside=False)
    try:
        with shared(definition.limits):
            diagnostics = list(_counting(checker, ignored))
        if diagnostics:
            lint.raise_first(_with_values(diagnostics, definition, types, ignored))
    except TEMPLATE_ERRORS as error:
        raise exception.HTTPBadRequest(str(error)) from None
    answer = described(definition)
    if show_nested:
        take(len(definition.resources))
        answer.update(_nested(types, checker, ignored, take))
    environment = definition.environment.shown()
    registry = dict(environment['resource_registry'])
    for found in checker.found.values():
        if found.is_template and not found.path:
            registry.setdefault(str(found.target), found.target)
    registry.update(_used_aliases(checker, registry))
    answer['Environment'] = {**environment, 'resource_registry': {RESOURCES: registry.pop(RESOURCES, {}), **registry}}
    return answer


def _used_aliases(checker: lint.Checker, shown: Container[str]) -> dict[str, str]:
    """Type name -> entry of the operator's registry that gives it another name, as Heat adds them to the user's."""
    operator = checker.definition.environment.registry.behind
    used: dict[str, str] = {}
    for name, found in checker.found.items():
        type_name = checker.definition.resources[name].type
        if found.is_template or found.is_user or not found.path or type_name in shown:
            continue
        target = operator.entries.get(found.path[-1]) if operator is not None else None
        if isinstance(target, str):
            used[type_name] = target
    return used


def _counting(checker: lint.Checker, ignored: Container[str]) -> Iterator[lint.Diagnostic]:
    for diagnostic in itertools.islice(checker.diagnostics(), lint.MOST_COMPLAINTS):
        if not _is_ignored(diagnostic, ignored):
            yield checker.placed(diagnostic)


def _is_ignored(diagnostic: lint.Diagnostic, ignored: Container[str]) -> bool:
    return diagnostic.error.error_code is not None and diagnostic.error.error_code in ignored


def _with_values(found: list[lint.Diagnostic], definition: StackDefinition, types: TypeCatalog,
                 ignored: Container[str]) -> list[lint.Diagnostic]:
    """Return the diagnostics that were found without values, and those that a create would add, in its order.

    The first stays the first. Parameters without a value are unknown: they may be given with the create.
    """
    supposed = definitions.build(definition.template, definition.environment, definition.files, definition.identity,
                                 limits=definition.limits, assume_unknown=True)
    complete = [each for each in lint.check(supposed, types) if not _is_ignored(each, ignored)]
    every: dict[object, lint.Diagnostic] = {}
    for each in (*found[:1], *complete, *found[1:]):
        every.setdefault(each.identity, each)
    return list(every.values())[:lint.MOST_COMPLAINTS]


def described(definition: StackDefinition) -> dict[str, object]:
    """Return description, parameters and their groups of one template."""
    answer: dict[str, object] = {
        'Description': definition.description,
        'Parameters': {name: parameter(definition.parameters, schema)
                       for name, schema in definition.parameters.declared.items()}}
    groups = definition.template.section('parameter_groups')
    if groups:
        answer['ParameterGroups'] = groups
    return answer


def parameter(parameters: Parameters, schema: ParameterSchema) -> dict[str, object]:
    """One parameter in the format of the API. Without its value, if that depends on resources that do not exist yet."""
    name = schema.name
    shown: dict[str, object] = {
        'Type': WIRE_TYPES[schema.kind],
        'Description': '' if schema.description is None else schema.description,
        'NoEcho': 'true' if schema.hidden else 'false',
        'Label': name if schema.label is None else schema.label}
    default = parameters.default(name)
    if default is not None:
        shown['Default'] = default
    given = parameters.given.get(name)
    if given and is_known(given):
        shown['Value'] = given
    if schema.tags:
        shown['Tags'] = schema.tags
    texts = []
    for constraint in schema.constraints:
        shown.update(_constraint(constraint))
        if constraint.description is not None:
            texts.append(str(constraint.description))
    if texts:
        # CFN has one description for all constraints of a parameter.
        shown['ConstraintDescription'] = ' '.join(dict.fromkeys(texts))
    return shown


def _constraint(constraint: object) -> Mapping[str, object]:
    keys: dict[str, object] = {}
    match constraint:
        case Range():
            keys = {'MinValue': constraint.min, 'MaxValue': constraint.max}
        case Length():
            keys = {'MinLength': constraint.min, 'MaxLength': constraint.max}
        case Modulo():
            keys = {'Step': constraint.step, 'Offset': constraint.offset}
        case AllowedValues():
            keys = {'AllowedValues': list(constraint.allowed)}
        case AllowedPattern():
            keys = {'AllowedPattern': constraint.pattern}
        case CustomConstraint():
            keys = {'CustomConstraint': constraint.constraint_name}
    return {key: value for key, value in keys.items() if value is not None}


def _nested(types: TypeCatalog, checker: lint.Checker, ignored: Container[str],
            take: Callable[[int], None]) -> dict[str, object]:
    """`NestedParameters` of all nested stacks. They are only read: raises the errors that prevent that, and
    RequestLimitExceeded if they nest too deeply."""
    shown: dict[str, object] = {}
    deepest = checker.definition.limits.max_nested_depth
    for name, resource in checker.definition.resources.items():
        child = checker.child(resource)
        if child is None:
            if checker.facts[name].has_members:
                shown[name] = {'Type': resource.type, **WITHOUT_MEMBERS}
            continue
        if checker.depth >= deepest:
            raise lint.too_deep(deepest)
        take(len(child.resources))
        inner = lint.Checker(child, types, values=False, look_inside=False, depth=checker.depth + 1,
                             memory=checker.memory)
        with shared(child.limits):
            diagnostics = list(_counting(inner, ignored))
        if inner.facts.keys() != child.resources.keys():
            lint.raise_first(diagnostics)
        shown[name] = {'Type': resource.type, **described(child), **_nested(types, inner, ignored, take)}
    return {'NestedParameters': shown} if shown else {}
