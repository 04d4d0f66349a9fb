"""Checks of what a type says about itself. Nothing is made, no service is asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import attributes, support
from heatlite.engine import properties as property_set
from heatlite.engine.resource import Resource
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.engine.translation import TranslationRule
from heatlite.engine.types import contract_names, source_lines
from heatlite.language.constraints import Constraint, CustomConstraint
from heatlite.testing.report import FAILED, PASSED, CheckResult

Diagnostic = tuple[str, str]
"""(FILE:LINE or nothing, what is wrong)"""


def check_properties(kind: type[Resource]) -> Iterator[Diagnostic]:
    """Types, defaults that fit, what may change and what may not."""
    for section in ('properties_schema', 'update_policy_schema'):
        declared = getattr(kind, section)
        if not isinstance(declared, Mapping):
            yield source_lines.of_entry(kind, section), f'{section} is no map'
            continue
        for name in declared:
            try:
                schema = property_set.Schema.from_legacy(declared[name])
            except Exception as error:
                yield source_lines.of_entry(kind, section, name), f'{name}: {type(error).__name__}: {error}'
                continue
            for path, text in _of_schema((name,), schema):
                yield source_lines.of_entry(kind, section, *path), f'{".".join(path)}: {text}'
    for name in kind.update_allowed_properties:
        if name not in kind.properties_schema:
            yield source_lines.of_entry(kind, 'update_allowed_properties'), f'{name} is no property'


def _of_schema(path: tuple[str, ...], schema: property_set.Schema) -> Iterator[tuple[tuple[str, ...], str]]:
    if schema.default is not None:
        try:
            schema.validate_constraints(schema.coerce(schema.default), skipped=(CustomConstraint,))
        except (ValueError, TypeError) as error:
            yield path, f'the default {schema.default!r} does not fit: {error}'
        if schema.required:
            yield path, 'it is required, so its default is never used'
    if schema.update_allowed and schema.immutable:
        yield path, 'update_allowed and immutable contradict each other'
    constraints: Iterable[object] = schema.constraints          # plug-ins may put anything there
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            yield path, f'{constraint!r} is no constraint'
    children = schema.schema
    if isinstance(children, property_set.Schema):
        yield from _of_schema(path, children)
    elif isinstance(children, Mapping):
        for name, child in children.items():
            if isinstance(child, property_set.Schema):
                yield from _of_schema((*path, name), child)
            else:
                yield (*path, name), f'{child!r} is no Schema'


def check_attributes(kind: type[Resource]) -> Iterator[Diagnostic]:
    declared: object = kind.attributes_schema       # plug-ins may put anything there
    if not isinstance(declared, Mapping):
        yield source_lines.of_entry(kind, 'attributes_schema'), 'attributes_schema is no map'
        return
    for name, schema in declared.items():
        where = source_lines.of_entry(kind, 'attributes_schema', name)
        if isinstance(schema, str):
            continue                            # how plug-ins were written once: the description alone
        if not isinstance(schema, attributes.Schema):
            yield where, f'{name}: {schema!r} is no attributes.Schema'
        elif schema.type not in attributes.Schema.TYPES:
            yield where, f'{name}: there is no type {schema.type!r}'
        elif schema.cache_mode not in attributes.CACHE_MODES:
            yield where, f'{name}: there is no cache mode {schema.cache_mode!r}'


def check_methods(kind: type[Resource]) -> Iterator[Diagnostic]:
    """Check that the engine can call them, and that there is a method for each promise of the schema."""
    for name, count in contract_names.ARGUMENTS.items():
        method = getattr(kind, name, None)
        if method is not None and not callable(method):
            yield source_lines.of_entry(kind, name), f'{name} is no method'
        elif method is not None and not _takes(method, count + 1):
            yield _line(kind, name), f'{name} must take {count} arguments besides self'
    for verb in contract_names.VERBS:
        if hasattr(kind, f'check_{verb}_complete') and not hasattr(kind, f'handle_{verb}'):
            yield _line(kind, f'check_{verb}_complete'), (
                f'check_{verb}_complete is never called: there is no handle_{verb}')
    changing = [name for name, schema in kind.properties_schema.items()
                if getattr(schema, 'update_allowed', False)]
    if changing and kind.handle_update is Resource.handle_update:
        yield source_lines.of_entry(kind, 'properties_schema', changing[0]), (
            f'{", ".join(changing)}: update_allowed, but there is no handle_update')
    for name, meant in contract_names.misspelt(kind):
        where = _line(kind, name) if callable(getattr(kind, name)) else source_lines.of_entry(kind, name)
        yield where, f'{name} is never used: did you mean {meant}?'


def _takes(method: Callable[..., object], count: int) -> bool:
    if inspect.ismethod(method):
        count -= 1                              # a class method
    try:
        inspect.signature(method).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:                          # written in C
        return True
    return True


def _line(kind: type, name: str) -> str:
    method = inspect.unwrap(getattr(kind, name))
    code = getattr(method, '__code__', None)
    return f'{code.co_filename}:{code.co_firstlineno}' if code is not None else source_lines.of_class(kind)


class _Nowhere(dict[str, object]):
    """A stack, as far as rules of translation look at one."""

    context = RequestContext(overwrite=False)
    env = None
    name = id = 'none'

    @property
    def defn(self) -> object:
        return self


def check_translation(kind: type[Resource]) -> Iterator[Diagnostic]:
    """Rules name properties that are there."""
    if kind.translation_rules is Resource.translation_rules:
        return
    stack = _Nowhere()
    where = _line(kind, 'translation_rules')
    try:
        resource = kind('none', ResourceDefinition('none', 'None', {}), stack)
        given = property_set.Properties(kind.properties_schema, {})
        rules: list[object] = list(resource.translation_rules(given) or ())
    except exception.StackValidationFailed:
        return                                  # they depend on properties that are required
    except Exception as error:
        yield where, f'translation_rules cannot be asked without properties: {type(error).__name__}: {error}'
        return
    for rule in rules:
        if not isinstance(rule, TranslationRule):
            yield where, f'{rule!r} is no TranslationRule'
            continue
        for path in (rule.translation_path, rule.value_path):
            if path is not None and not _leads(path, kind.properties_schema):
                yield where, f'a rule of translation names {".".join(map(str, path))}, which is no property'


def _leads(path: list[str], schemas: Mapping[str, object] | None) -> bool:
    """Whether the path stands for a property; it may end in maps without a schema."""
    for name in path:
        if schemas is None:
            return True
        if name not in schemas:
            return False
        schema = property_set.Schema.from_legacy(schemas[name])
        inner = schema.schema
        while isinstance(inner, property_set.Schema):       # of the items of lists
            inner = inner.schema
        schemas = inner
    return True


def check_support(kind: type[Resource]) -> Iterator[Diagnostic]:
    status: object = kind.support_status
    while status is not None:
        if not isinstance(status, support.SupportStatus):
            yield source_lines.of_entry(kind, 'support_status'), f'support_status: {status!r} is no SupportStatus'
            return
        if status.status == support.UNKNOWN and status.message == support.SupportStatus('?').message:
            yield source_lines.of_entry(kind, 'support_status'), 'support_status: its status is not known'
        status = status.previous_status


CHECKS = {'properties': check_properties, 'attributes': check_attributes, 'methods': check_methods,
          'translation': check_translation, 'support': check_support}


def run(type_name: str, kind: type[Resource]) -> Iterator[CheckResult]:
    """Yield the result of each check; of several complaints all, the first place."""
    for check, complain in CHECKS.items():
        found = list(complain(kind))
        if found:
            reason = '; '.join([found[0][1], *(f'{where}: {text}' if where else text for where, text in found[1:])])
            yield CheckResult(type_name, check, FAILED, reason, found[0][0])
        else:
            yield CheckResult(type_name, check, PASSED)
