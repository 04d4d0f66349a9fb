"""Definitions of parameters, and the conversion of values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from heatlite.common import exception
from heatlite.common.document_size import check_text
from heatlite.common.i18n import _
from heatlite.common.json_values import loads
from heatlite.language import versions
from heatlite.language.constraints import (
    AllowedPattern,
    AllowedValues,
    Constraint,
    CustomConstraint,
    CustomLookup,
    Length,
    Modulo,
    Range,
    check_fit,
    to_number,
)
from heatlite.language.hiding import HIDDEN_TEXT, is_hidden, is_set
from heatlite.language.kind_names import kind_name

HOT_KINDS = {'string': 'string', 'number': 'number', 'comma_delimited_list': 'list', 'json': 'map',
             'boolean': 'boolean'}
CFN_KINDS = {'String': 'string', 'Number': 'number', 'CommaDelimitedList': 'list', 'Json': 'map',
             'Boolean': 'boolean'}
WIRE_TYPES = {kind: name for name, kind in CFN_KINDS.items()}       # their names in POST /validate

HOT_DEFINITION = frozenset({'type', 'default', 'label', 'description', 'hidden', 'constraints', 'immutable',
                            'schema'})
CFN_DEFINITION = frozenset({'Type', 'Default', 'Label', 'Description', 'NoEcho', 'AllowedValues', 'AllowedPattern',
                            'MinLength', 'MaxLength', 'MinValue', 'MaxValue', 'ConstraintDescription'})
CONSTRAINT_KEYS = ('modulo', 'range', 'length', 'allowed_values', 'allowed_pattern', 'custom_constraint')

TRUE_WORDS = frozenset({'t', 'true', 'on', 'y', 'yes', '1'})
FALSE_WORDS = frozenset({'f', 'false', 'off', 'n', 'no', '0'})


class ParameterSchema:
    """The definition of one parameter. `type` is the type's name in the template, `kind` its meaning.

    `is_wrong`: it stands for a definition that is wrong, so that nothing can be said about a value.
    """

    def __init__(self, name: str, type: str, kind: str, *, default: object = None, label: object = None,
                 description: Any = None, hidden: bool = False, immutable: bool = False, tags: object = None,
                 constraints: tuple[Constraint, ...] = (), is_wrong: bool = False) -> None:
        self.name = name
        self.type = type
        self.kind = kind
        self.default = default
        self.label = label
        self.description = description
        self.hidden = hidden
        self.immutable = immutable
        self.tags = tags
        self.constraints = constraints
        self.is_wrong = is_wrong

    def to_schema_type(self, value: object) -> object:
        return CONVERT[self.kind](value)

    def converted(self, value: object) -> object:
        """Convert `value` to this type.

        Raises ValueError or TypeError with the reason, which does not quote a hidden value.
        """
        try:
            return CONVERT[self.kind](value)
        except (ValueError, TypeError):
            if not self.hidden:
                raise
            raise ValueError(_('The value of the hidden parameter is not of type %s') % self.type) from None

    def check_value(self, value: object, lookup: CustomLookup | None, *, custom: bool = True) -> None:
        """Check `value`, as given.

        Raises ValueError or TypeError with the reason, which does not quote a hidden value.
        """
        converted = self.converted(value)
        # Texts and numbers are checked as given: messages show them so.
        self._check_constraints(converted if self.kind in ('list', 'map') or isinstance(value, list | dict) else value,
                                lookup, custom)

    def _check_constraints(self, seen: object, lookup: CustomLookup | None, custom: bool) -> None:
        for constraint in self.constraints:
            if isinstance(constraint, CustomConstraint) and not custom:
                continue
            try:
                if isinstance(constraint, CustomConstraint):
                    constraint.validate(seen, self, None, lookup)
                else:
                    constraint.validate(seen, self)
            except (ValueError, TypeError):
                if not self.hidden:
                    raise
                raise ValueError(constraint.description or _(
                    'The value of the hidden parameter does not satisfy its constraint "%s"')
                    % constraint.name) from None

    def check_default(self) -> None:
        """Raise InvalidSchemaError when the default violates a constraint (custom ones are not checked)."""
        if self.default is None:
            return
        if self.kind == 'list' and not isinstance(self.default, str | list):
            raise _invalid(self.name, _('Default must be a comma-delimited list string: %s')
                           % (HIDDEN_TEXT if self.hidden else _not_a_list(self.default)))
        if not self.constraints:
            return
        try:
            self.check_value(self.default, None, custom=False)
        except (ValueError, TypeError) as error:
            if self._is_text_valid():
                return
            raise _invalid(self.name, _('Invalid default %(default)s (%(error)s)')
                           % {'default': HIDDEN_TEXT if self.hidden else self.default, 'error': error}) from None

    def _is_text_valid(self) -> bool:
        """Whether the text of the default of a list or map satisfies the constraints, as in Heat: one without items has
        an empty one, and `{}` two characters. Such a default is refused only where it is used."""
        if not isinstance(self.default, str) or self.kind not in ('list', 'map'):
            return False
        try:
            self._check_constraints(self.default.split(',') if self.kind == 'list' else self.default, None, False)
        except (ValueError, TypeError):
            return False
        return True


def _invalid(name: str, reason: str) -> exception.InvalidSchemaError:
    return exception.InvalidSchemaError(_("Parameter '%(name)s' is invalid: %(reason)s")
                                        % {'name': name, 'reason': reason})


# --- values ---------------------------------------------------------------------------------------------------

def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _boolean(value: object) -> bool:
    word = str(value).strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(_("Unrecognized value '%(value)s', acceptable values are: %(words)s")
                     % {'value': value, 'words': ', '.join(f"'{w}'" for w in sorted(TRUE_WORDS | FALSE_WORDS))})


def _list(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split(',') if value else []
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    raise ValueError(_('Value must be a comma-delimited list string: %s') % _not_a_list(value))


def _not_a_list(value: object) -> str:
    return _("'%(value)s' is a %(kind)s") % {'value': value, 'kind': kind_name(value)}


def _json(value: object) -> object:
    if not isinstance(value, str) or not value:
        return value
    try:
        return check_text(loads(value))
    except (ValueError, RecursionError, exception.HTTPBadRequest) as error:
        raise ValueError(_('Value must be valid JSON: %s') % error) from None


CONVERT = {'string': _text, 'number': to_number, 'boolean': _boolean, 'list': _list, 'map': _json}


def as_text(kind: str, value: Any) -> str:
    """Format a converted value as `stack show` prints it."""
    if kind == 'list':
        return ','.join(value)
    if kind == 'map' and not isinstance(value, str):
        return json.dumps(value)
    return str(value)


# --- definitions ----------------------------------------------------------------------------------------------

def schema_of(name: str, definition: object, edition: versions.Edition) -> ParameterSchema:
    """Make the schema of one definition. Raises InvalidSchemaError."""
    if not isinstance(definition, Mapping):
        raise exception.InvalidSchemaError(_('Invalid parameter (%s), expected a mapping') % name)
    known = CFN_DEFINITION if not edition.is_hot else (
        HOT_DEFINITION | {'tags'} if edition.has(versions.QUEENS) else HOT_DEFINITION)
    for key in definition:
        if key not in known:
            raise exception.InvalidSchemaError(_("Invalid key '%(key)s' for parameter (%(name)s)")
                                               % {'key': key, 'name': name})
    return _hot_schema(name, definition, edition) if edition.is_hot else _cfn_schema(name, definition)


def _type_of(name: str, definition: Mapping[str, object], key: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    word = definition.get(key)
    if key not in definition:
        raise exception.InvalidSchemaError(_('Missing parameter type for parameter: %s') % name)
    if not isinstance(word, str) or word not in kinds:
        error = exception.InvalidSchemaError(_('Invalid type (%s)') % word)
        error.hint = _('types of parameters are %s') % ', '.join(kinds)
        raise error
    return word, kinds[word]


def _hot_schema(name: str, definition: Mapping[str, object], edition: versions.Edition) -> ParameterSchema:
    if 'type' not in definition:
        _type_of(name, definition, 'type', HOT_KINDS)
    tags = definition.get('tags')
    if tags is not None and not isinstance(tags, list):
        raise exception.InvalidSchemaError(_('Tags property should be a list for parameter: %s') % name)
    constraints = tuple(_hot_constraints(name, definition.get('constraints'), edition))
    word, kind = _type_of(name, definition, 'type', HOT_KINDS)
    schema = ParameterSchema(
        name, word, kind, default=definition.get('default'), label=definition.get('label'),
        description=definition.get('description'), hidden=is_hidden(definition),
        immutable=is_set(definition.get('immutable')), tags=tags, constraints=constraints)
    _check_fit(schema)
    return schema


def _check_fit(schema: ParameterSchema) -> None:
    try:
        check_fit(schema.constraints, schema.kind, schema.type)
        if schema.kind == 'map' and any(isinstance(item, CustomConstraint | AllowedValues)
                                        for item in schema.constraints):
            raise exception.InvalidSchemaError(_('%(constraint)s constraint invalid for %(type)s') % {
                'constraint': next(type(item).__name__ for item in schema.constraints
                                   if isinstance(item, CustomConstraint | AllowedValues)), 'type': schema.type})
    except exception.InvalidSchemaError as error:
        raise _invalid(schema.name, str(error)) from None


def _hot_constraints(name: str, given: object, edition: versions.Edition) -> Iterator[Constraint]:
    if given is None:
        return
    if not isinstance(given, list):
        raise exception.InvalidSchemaError(
            _('Invalid parameter constraints for parameter %s, expected a list') % name)
    for item in given:
        _check_keys(item, {'description', *CONSTRAINT_KEYS}, 'parameter constraints')
        description = item.get('description')
        for key in CONSTRAINT_KEYS if edition.has(versions.OCATA) else CONSTRAINT_KEYS[1:]:
            if key in item:
                yield _hot_constraint(key, item[key], description)
                break
        else:
            raise exception.InvalidSchemaError(_('No constraint expressed'))


def _hot_constraint(key: str, body: Any, description: str | None) -> Constraint:
    match key:
        case 'range' | 'length':
            _check_keys(body, {'min', 'max'}, f'{key} constraint')
            low, high = _number(body.get('min')), _number(body.get('max'))
            return Range(low, high, description) if key == 'range' else Length(low, high, description)
        case 'modulo':
            _check_keys(body, {'step', 'offset'}, 'modulo constraint')
            return Modulo(_number(body.get('step')), _number(body.get('offset')), description)
        case 'allowed_values':
            return AllowedValues(body, description)
        case 'allowed_pattern':
            return AllowedPattern(body, description)
    return CustomConstraint(body, description)


def _check_keys(given: object, known: set[str], what: str) -> None:
    if not isinstance(given, Mapping):
        raise exception.InvalidSchemaError(_('Invalid %s, expected a mapping') % what)
    for key in given:
        if key not in known:
            raise exception.InvalidSchemaError(_("Invalid key '%(key)s' for %(what)s") % {'key': key, 'what': what})


def _number(value: object) -> float | None:
    if value is None:
        return None
    try:
        return to_number(value)
    except (ValueError, TypeError):
        found = f'"{value}"' if isinstance(value, str) else f'a {kind_name(value)}'
        raise exception.InvalidSchemaError(_('A bound of a constraint must be a number, not %s') % found) from None


def _cfn_schema(name: str, definition: Mapping[str, Any]) -> ParameterSchema:
    word, kind = _type_of(name, definition, 'Type', CFN_KINDS)
    get = definition.get
    description = get('ConstraintDescription')
    constraints: list[Constraint] = []
    if get('MinValue') is not None or get('MaxValue') is not None:
        constraints.append(Range(_number(get('MinValue')), _number(get('MaxValue')), description))
    if get('MinLength') is not None or get('MaxLength') is not None:
        constraints.append(Length(_number(get('MinLength')), _number(get('MaxLength')), description))
    if 'AllowedValues' in definition:
        constraints.append(AllowedValues(get('AllowedValues') or (), description))
    if 'AllowedPattern' in definition:
        constraints.append(AllowedPattern(definition['AllowedPattern'], description))
    schema = ParameterSchema(
        name, word, kind, default=get('Default'), label=get('Label'), description=get('Description'),
        hidden=is_hidden(definition), constraints=tuple(constraints))
    _check_fit(schema)
    return schema


def schemata(section: object, edition: versions.Edition) -> dict[str, ParameterSchema]:
    """Return the schemas of a `parameters` section, in its order. Raises InvalidSchemaError."""
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise exception.StackValidationFailed(
            message=_('The parameters section must be a map of parameter definitions. Found a %s instead')
            % kind_name(section))
    return {name: schema_of(name, definition, edition) for name, definition in section.items()}
