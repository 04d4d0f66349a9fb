"""One resource of a template.

Parts are parsed at first use and evaluated against scopes any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language import versions
from heatlite.language.budget import shared
from heatlite.language.document import check_size, measure
from heatlite.language.expression import (
    ABSENT,
    PLACEHOLDERS,
    Call,
    InvalidCall,
    MapNode,
    Node,
    Requirement,
    Scope,
    SourcePath,
    evaluate,
    requirements,
    resolve,
    spelled,
)
from heatlite.language.unknown import UNKNOWN

if TYPE_CHECKING:
    from heatlite.language.definition import StackDefinition

NOTHING: frozenset[str] = frozenset()
NO_PROPERTIES: Mapping[str, object] = {}
Part = TypeVar('Part')
DELETE, RETAIN, SNAPSHOT = DELETION_POLICIES = ('Delete', 'Retain', 'Snapshot')
FACADE_PARTS = ('metadata', 'deletion_policy', 'update_policy')      # what `Facade.part` returns


@dataclass(slots=True)
class Reference:
    """One reference to a resource: in a property, or in the metadata (`property_name` None), and its place there."""

    property_name: str | None
    trail: SourcePath
    requirement: Requirement

    @property
    def resource(self) -> object:
        return self.requirement.resource

    def path(self) -> tuple[object, ...]:
        """Return the path within properties or metadata."""
        inner = spelled(self.trail)
        return inner if self.property_name is None else (self.property_name, *inner)


class Facade:
    """The parent stack's resource that owns a nested stack, as seen from inside."""

    def __init__(self, resource: DefinedResource, scope: Scope) -> None:
        self.resource = resource
        self.scope = scope

    def part(self, name: str) -> object:
        match name:
            case 'metadata':
                return self.resource.metadata(self.scope)
            case 'deletion_policy':
                return self.resource.deletion_policy
        return self.resource.update_policy(self.scope)

    def masked(self, text: str) -> str:
        """`text` without the values that the parent stack hides."""
        return self.resource.owner.masked(text)


class DefinedResource:
    """One resource as defined in the template. Its parts are parsed at first use."""

    __slots__ = ('_needs', '_parsed', '_referring', '_requires', 'name', 'owner', 'snippet')

    def __init__(self, name: str, snippet: Mapping[str, object], owner: StackDefinition) -> None:
        self.name = name
        self.snippet: Mapping[str, object] = snippet
        self.owner = owner
        self._parsed: _Parsed | None = None
        self._needs: tuple[Reference, ...] | None = None
        self._requires: frozenset[str] | None = None
        self._referring: dict[str, frozenset[str]] | None = None

    def __repr__(self) -> str:
        return f'<ResourceDefinition {self.name}>'

    @property
    def path(self) -> tuple[str, str]:
        return self.owner.keys.resources, self.name

    @property
    def parsed(self) -> _Parsed:
        """The parsed parts. Raises StackValidationFailed for a part of the wrong kind or an invalid call."""
        if self._parsed is None:
            self._parsed = _parse_resource(self)
        return self._parsed

    @property
    def type(self) -> str:
        found = self.snippet.get(self.owner.keys.type)
        return found if isinstance(found, str) else self.parsed.type

    @property
    def description(self) -> str:
        found = self.snippet.get(self.owner.keys.resource_description)
        return found if isinstance(found, str) else ''

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The names as written, including those of disabled resources."""
        return self.parsed.depends_on

    @property
    def deletion_policy(self) -> str:
        return self.parsed.deletion_policy

    @property
    def property_expressions(self) -> Mapping[str, object]:
        found = self.parsed.properties
        return found.entries if isinstance(found, MapNode) else found

    def properties(self, scope: Scope) -> dict[str, object]:
        """Evaluate the given properties, without absent values. Raises StackValidationFailed with the path."""
        if not self.property_expressions:
            return {}
        values = {}
        with self.owner.ledger.evaluation(self.name) as budget:
            for name, expression in self.property_expressions.items():
                try:
                    value = evaluate(expression, scope)
                except exception.DatabaseUnavailable:       # of what the scope reads: no error of the property
                    raise
                except Exception as error:          # functions, yaql above all, may raise anything
                    raise self.masked_error(self.property_path(name), error) from error
                if value is not ABSENT:
                    values[name] = value
            budget.hold(measure(values, self.owner.limits))
        return values

    def guessed_properties(self) -> dict[str, object]:
        """Given properties as far as they are known before any resource exists.

        A value whose evaluation fails is UNKNOWN; checks report the error.
        """
        values = {}
        with self.owner.ledger.evaluation(self.name) as budget:
            for name, expression in self.property_expressions.items():
                try:
                    value = evaluate(expression, PLACEHOLDERS)
                except Exception:                       # functions, yaql above all, may raise anything
                    value = UNKNOWN
                if value is not ABSENT:
                    values[name] = value
            budget.hold(measure(values, self.owner.limits))
        return values

    def masked_error(self, path: tuple[object, ...], error: Exception) -> exception.StackValidationFailed:
        """Return the error of a property, without the values of hidden parameters."""
        return exception.StackValidationFailed(
            error='Property error', path=path, message=self.owner.masked(str(error)))

    def property_path(self, *names: object) -> tuple[object, ...]:
        return (*self.path, self.owner.keys.properties, *names)

    def metadata(self, scope: Scope) -> object:
        if not self.parsed.metadata:
            return {}
        with self.owner.ledger.evaluation((self.name, 'metadata')) as budget:
            found = resolve(self.parsed.metadata, scope)
            budget.hold(measure(found, self.owner.limits))
            return {} if found is None else found

    def update_policy(self, scope: Scope) -> dict[str, object]:
        if not self.parsed.update_policy:
            return {}
        with shared(self.owner.limits):
            found = resolve(self.parsed.update_policy, scope)
            return check_size(found, self.owner.limits) if isinstance(found, dict) else {}

    def external_id(self, scope: Scope = PLACEHOLDERS) -> object:
        return resolve(self.parsed.external_id, scope)

    @property
    def is_external(self) -> bool:
        return self.parsed.external_id is not None

    @property
    def needs(self) -> tuple[Reference, ...]:
        """All references to resources in properties and metadata."""
        if self._needs is None:
            parts = [(name, expression) for name, expression in (
                *self.property_expressions.items(), (None, self.parsed.metadata))
                     if isinstance(expression, Node) and expression.refers]
            self._needs = self._references(parts) if parts else ()
        return self._needs

    def _references(self, parts: Iterable[tuple[str | None, Node]]) -> tuple[Reference, ...]:
        with shared(self.owner.limits):
            return tuple(Reference(name, trail, need) for name, expression in parts
                         for trail, need in requirements(expression, PLACEHOLDERS))

    @property
    def requires(self) -> frozenset[str]:
        """Enabled resources that this one needs directly: named in depends_on, or used in properties, metadata."""
        if self._requires is None and not self.needs and not self.depends_on:
            self._requires = NOTHING
        elif self._requires is None:
            known = self.owner.resources
            names = {name for name in self.depends_on if name in known}
            if not self.is_external:
                names.update(need.resource for need in self.needs
                             if isinstance(need.resource, str) and need.resource in known)
            self._requires = frozenset(names)
        return self._requires

    def require(self, names: Iterable[str]) -> None:
        """Add resources that its type needs beyond those of the template."""
        self._requires = self.requires | {name for name in names if name in self.owner.resources and name != self.name}

    def release(self, names: Iterable[str]) -> None:
        """Remove resources whose references do not make others wait for them, unless depends_on names them."""
        self._requires = self.requires - (frozenset(names) - frozenset(self.depends_on))

    @property
    def referring(self) -> Mapping[str, frozenset[str]]:
        """Property name -> the resources that its value uses, without properties that use none."""
        if self._referring is None:
            found: dict[str, set[str]] = {}
            for need in self.needs:
                if need.property_name is not None and isinstance(need.resource, str):
                    found.setdefault(need.property_name, set()).add(need.resource)
            self._referring = {name: frozenset(names) for name, names in found.items()}
        return self._referring

    def resolved(self, scope: Scope) -> dict[str, object]:
        """Return the evaluated definition as JSON data: equal data, equal definitions."""
        parsed = self.parsed
        return {'type': parsed.type, 'properties': self.properties(scope), 'metadata': self.metadata(scope),
                'update_policy': self.update_policy(scope), 'deletion_policy': parsed.deletion_policy,
                'depends_on': sorted(parsed.depends_on), 'description': self.description,
                'external_id': self.external_id(scope)}


def property_error(path: tuple[object, ...], error: Exception) -> exception.StackValidationFailed:
    made = exception.StackValidationFailed(error='Property error', path=path, message=str(error))
    made.__cause__ = error
    return made


@dataclass(frozen=True)
class WrongPart:
    """One error of a resource, and the key of its part."""

    key: str
    error: exception.StackValidationFailed


@dataclass(slots=True)
class _Parsed:
    """The parsed parts of a resource."""

    type: str
    properties: Any
    metadata: object
    depends_on: tuple[str, ...]
    update_policy: object
    deletion_policy: str
    external_id: object


def _parse_resource(resource: DefinedResource) -> _Parsed:
    wrong: list[WrongPart] = []
    parsed = _Sections(resource, wrong).read()
    if wrong:
        raise wrong[0].error
    return parsed


def wrong_parts(resource: DefinedResource) -> list[WrongPart]:
    """All errors of a resource, those of single properties included. The first is the one that `parsed` raises.

    Raises RequestLimitExceeded.
    """
    parser = resource.owner.parser
    counted, parser.calls = parser.calls, 0             # they are read again, which the limit does not count
    try:
        wrong: list[WrongPart] = []
        _Sections(resource, wrong).read()
        return [*wrong, *_wrong_entries(resource, wrong)]
    finally:
        parser.calls = counted


def _wrong_entries(resource: DefinedResource, known: Sequence[WrongPart]) -> Iterator[WrongPart]:
    """Errors of single properties and entries of metadata: parsing a map stops at the first one."""
    keys, texts = resource.owner.keys, {str(each.error) for each in known}
    for key in (keys.properties, keys.metadata):
        section = resource.snippet.get(key)
        if not any(each.key == key for each in known) or not isinstance(section, Mapping) or len(section) < 2:
            continue
        for name, value in section.items():
            try:
                resource.owner.parser.parse(value)
            except InvalidCall as misuse:
                error = misuse.at(*resource.path, key, name)
                if str(error) not in texts:
                    yield WrongPart(key, error)


class _Sections:
    """The sections of one resource, each parsed and of the kind that it must be."""

    def __init__(self, resource: DefinedResource, errors: list[WrongPart]) -> None:
        """Add the error of a section that is wrong or has an invalid call to `errors`."""
        self._resource, self._errors = resource, errors
        self._snippet = resource.snippet

    def read(self) -> _Parsed:
        """Not complete if errors were added."""
        keys = self._resource.owner.keys
        type_name = self._attempt(keys.type, lambda: self._text(keys.type, call=False), '')
        properties = self._attempt(keys.properties, lambda: self._properties(keys.properties), None)
        metadata = self._attempt(keys.metadata, lambda: self._container(keys.metadata, call=True), None)
        depends_on: tuple[str, ...] = self._attempt(keys.depends_on, lambda: self._depends_on(keys.depends_on), ())
        update_policy = self._attempt(keys.update_policy,
                                      lambda: self._container(keys.update_policy, call=False), None)
        policy = self._attempt(keys.deletion_policy, lambda: _deletion_policy(
            self._resource, self._text(keys.deletion_policy, call=True)), DELETE)
        self._attempt(keys.resource_description, lambda: self._text(keys.resource_description, call=False), None)
        external_id = self._attempt(keys.external_id or '', lambda: _external_id(
            self._text(keys.external_id, call=True)), None) \
            if self._resource.owner.edition.has(versions.NEWTON) else None
        if external_id is not None:
            policy = RETAIN
        return _Parsed(type_name, properties, metadata, depends_on, update_policy, policy, external_id)

    def _attempt(self, key: str, read: Callable[[], Part], otherwise: Part) -> Part:
        try:
            return read()
        except exception.StackValidationFailed as error:
            self._errors.append(WrongPart(key, error))
            return otherwise

    def _parsed(self, key: str) -> object:
        try:
            return self._resource.owner.parser.parse(self._snippet[key])
        except InvalidCall as misuse:
            raise misuse.at(*self._resource.path, key) from None

    def _text(self, key: str | None, *, call: bool) -> Any:
        """`call`: a function may give it."""
        if key is None or key not in self._snippet:
            return None
        is_parsed = call or key == self._resource.owner.keys.type
        section = self._parsed(key) if is_parsed else self._snippet[key]
        if not isinstance(section, str) and not (call and isinstance(section, Call)):
            raise self._wrong(key, 'string')
        return section

    def _properties(self, key: str) -> object:
        return self._container(key, call=False) if key in self._snippet else NO_PROPERTIES

    def _container(self, key: str, *, call: bool) -> object:
        """`call`: a function may give it."""
        if key not in self._snippet:
            return None
        section = self._parsed(key)
        if isinstance(section, Call) and not call:
            raise exception.StackValidationFailed(
                error='TypeError', path=self._resource.path,
                message=_('%(key)s must be written as a map; a function may give single values of it, not all')
                % {'key': key})
        if not isinstance(section, dict | MapNode | Call):
            raise self._wrong(key, 'object')
        return section

    def _depends_on(self, key: str) -> tuple[str, ...]:
        section = self._snippet.get(key, [])
        if isinstance(section, str):
            return (section,)
        if not isinstance(section, list):
            raise self._wrong(key, 'list or string')
        if not all(isinstance(name, str) for name in section):
            raise exception.StackValidationFailed(message=_('Resource %(name)s %(key)s must be a list of strings')
                                                  % {'name': self._resource.name, 'key': key})
        return tuple(section)

    def _wrong(self, key: str, expected: str) -> exception.StackValidationFailed:
        return exception.StackValidationFailed(
            message=_('Resource %(name)s %(key)s type must be %(wanted)s')
            % {'name': self._resource.name, 'key': key, 'wanted': expected})


def _deletion_policy(resource: DefinedResource, parsed: object) -> str:
    if parsed is None:
        return DELETE
    edition = resource.owner.edition
    if isinstance(parsed, Node):
        if any(True for _need in requirements(parsed, PLACEHOLDERS)):
            raise exception.StackValidationFailed(
                path=[*resource.path, resource.owner.keys.deletion_policy],
                message=_('A deletion policy may not depend on resources'))
        try:
            parsed = resolve(parsed, PLACEHOLDERS)
        except (ValueError, TypeError, KeyError) as error:
            raise exception.StackValidationFailed(
                path=[*resource.path, resource.owner.keys.deletion_policy], message=str(error)) from None
        if parsed is UNKNOWN or parsed is None:
            return DELETE
    known = {policy: policy for policy in DELETION_POLICIES}
    if edition.has(versions.NEWTON):
        known |= {policy.lower(): policy for policy in DELETION_POLICIES}
    if not isinstance(parsed, str) or parsed not in known:
        raise exception.StackValidationFailed(message=_('Invalid deletion policy "%s"') % (parsed,))
    return known[parsed]


def _external_id(parsed: object) -> object:
    """Return the expression of an external id; None if a function gives null: then the resource is an ordinary one.

    An expression that refers to resources, or whose evaluation fails, counts as an id: checks report it.
    """
    if not isinstance(parsed, Node) or any(True for _need in requirements(parsed, PLACEHOLDERS)):
        return parsed
    try:
        return None if resolve(parsed, PLACEHOLDERS) is None else parsed
    except (ValueError, TypeError, KeyError, exception.HeatException):
        return parsed
