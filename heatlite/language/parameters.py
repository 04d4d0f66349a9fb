"""The parameters of a stack: sources of values, conversion, and presentation.

Everything is lazy: a value is converted at first use; `diagnostics` checks all of them in order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.language import budget, versions
from heatlite.language.constraints import CustomLookup
from heatlite.language.hiding import HIDDEN_TEXT, masked, texts_of
from heatlite.language.kind_names import kind_name
from heatlite.language.parameter_schema import (
    CFN_DEFINITION,
    CFN_KINDS,
    HOT_DEFINITION,
    HOT_KINDS,
    WIRE_TYPES,
    ParameterSchema,
    as_text,
    schema_of,
    schemata,
)
from heatlite.language.unknown import UNKNOWN

__all__ = ['CFN_DEFINITION', 'CFN_KINDS', 'HOT_DEFINITION', 'HOT_KINDS', 'PSEUDO_PARAMETERS', 'WIRE_TYPES',
           'ParameterSchema', 'Parameters', 'as_text', 'group_complaints', 'pseudo_parameters', 'schema_of', 'schemata']

STEPS_PER_PARAMETER = 10        # of `turns`, for checking one parameter
REGION = 'ap-southeast-1'
T = TypeVar('T')


class Parameter:
    """One parameter of a stack, with Heat's names, for plug-ins. Its text is the value, masked if it is hidden."""

    def __init__(self, owner: Parameters, schema: ParameterSchema) -> None:
        self._owner = owner
        self.schema = schema
        self.name = schema.name

    def value(self) -> object:
        """Return the value. Raises UserParameterMissing, StackValidationFailed."""
        if not self.has_value():
            raise exception.UserParameterMissing(key=self.name)
        return self._owner[self.name]

    def has_value(self) -> bool:
        return self._owner.has_value(self.name)

    @property
    def user_value(self) -> object:
        return self._owner.given.get(self.name)

    def has_default(self) -> bool:
        return self.default() is not None

    def default(self) -> object:
        return self._owner.default(self.name)

    def hidden(self) -> bool:
        return self.name in self._owner.hidden

    def description(self) -> str:
        return str(self.schema.description or '')

    def label(self) -> str:
        return str(self.schema.label or self.name)

    def __str__(self) -> str:
        return HIDDEN_TEXT if self.hidden() else as_text(self.schema.kind, self.value())


class Parameters(Mapping[str, object]):
    """Values by name, converted; pseudo parameters first, then the order of declaration.

    A name with neither value nor default is not in the mapping's `get`; `assume_unknown`: its value is UNKNOWN, for
    checks of a template without knowing how it will be used.
    """

    def __init__(self, schemas: Mapping[str, ParameterSchema], pseudo: Mapping[str, str],
                 given: Mapping[str, object], defaults: Mapping[str, object], *, assume_unknown: bool = False,
                 hidden: Iterable[str] = ()) -> None:
        self.schemas: dict[str, ParameterSchema] = {
            name: ParameterSchema(name, 'string', 'string', default=value, description=_PSEUDO_TEXT.get(name))
            for name, value in pseudo.items()}
        self.declared = dict(schemas)
        self.schemas.update(schemas)
        self.pseudo = frozenset(pseudo) - frozenset(schemas)
        self.given = given
        self.defaults = defaults
        self.assume_unknown = assume_unknown
        self._values: dict[str, object] = {}
        self._secrets: tuple[str, ...] | None = None
        self._inherited = frozenset(hidden)         # their values came from something hidden in the parent stack

    def raw(self, name: str) -> object:
        """Return the value as given, from any source; None when there is none, UNKNOWN when its definition is wrong."""
        if self.schemas[name].is_wrong:
            return UNKNOWN
        if name not in self.pseudo and self.given.get(name) is not None:
            return self.given[name]
        return self.default(name)

    def default(self, name: str) -> object:
        """Return the effective default: that of `parameter_defaults`, else the template's."""
        if self.defaults.get(name) is not None:
            return self.defaults[name]
        return self.schemas[name].default

    def has_value(self, name: str) -> bool:
        return name in self.schemas and self.raw(name) is not None

    def __getitem__(self, name: str) -> object:
        """Return the value. Raises KeyError for an undefined name or one without a value, StackValidationFailed for an
        invalid value."""
        if name in self._values:
            return self._values[name]
        schema = self.schemas[name]
        value = self.raw(name)
        if value is UNKNOWN or (value is None and self.assume_unknown):
            return UNKNOWN
        if value is None:
            raise KeyError(name)
        try:
            converted = schema.converted(value)
        except (ValueError, TypeError) as error:
            raise _wrong_value(name, error) from None
        self._values[name] = converted
        return converted

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.schemas if self.raw(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _name in self)

    def __contains__(self, name: object) -> bool:
        return name in self.schemas

    def map(self, func: Callable[[Parameter], T],
            filter_func: Callable[[Parameter], bool] | None = None) -> dict[str, T]:
        """Return {name: func(parameter)} of all parameters, or of those for which `filter_func` is true; for plug-ins.

        Of a parameter without a value, `value()` raises UserParameterMissing.
        """
        every = {name: Parameter(self, schema) for name, schema in self.schemas.items()}
        return {name: func(each) for name, each in every.items() if filter_func is None or filter_func(each)}

    @property
    def hidden(self) -> frozenset[str]:
        return frozenset(name for name, schema in self.schemas.items() if schema.hidden or name in self._inherited)

    def masked(self, text: str) -> str:
        """`text` without the values of hidden parameters."""
        if self._secrets is None:
            values = [self.raw(name) for name in self.hidden]
            for name in self.hidden:
                with contextlib.suppress(KeyError, exception.HeatException):
                    values.append(self[name])
            self._secrets = texts_of(values)
        return masked(text, self._secrets) if self._secrets else text

    def shown(self) -> dict[str, str]:
        """Every value as text for the API, hidden ones masked."""
        hidden = self.hidden
        return {name: HIDDEN_TEXT if name in hidden else as_text(self.schemas[name].kind, self[name]) for name in self}

    def unknown(self) -> Iterator[exception.UnknownUserParameter]:
        for name in self.given:
            if name not in self.schemas or name in self.pseudo:
                yield exception.UnknownUserParameter(key=name)

    def diagnostics(self, lookup: CustomLookup | None = None, *, values: bool = True) -> Iterator[
            tuple[str | None, exception.HeatException]]:
        """Check unknown names, then for each parameter its default against its constraints, then its value.

        `values` False omits the values, as validation without them does. Yields (name, error).
        """
        for unknown in self.unknown():
            yield str(unknown.kwargs['key']), unknown
        for name, schema in self.schemas.items():
            turns.spend(STEPS_PER_PARAMETER)
            try:
                schema.check_default()
                if values:
                    self._check_value(name, schema, lookup)
            except exception.HeatException as error:
                yield name, error

    def check(self, lookup: CustomLookup | None = None) -> None:
        """Raise the first error."""
        with budget.shared():
            for _name, error in self.diagnostics(lookup):
                raise error

    def _check_value(self, name: str, schema: ParameterSchema, lookup: CustomLookup | None) -> None:
        value = self.raw(name)
        if value is UNKNOWN or (value is None and self.assume_unknown):
            return
        if value is None:
            raise exception.UserParameterMissing(key=name)
        try:
            schema.check_value(value, lookup)
        except (ValueError, TypeError) as error:
            raise _wrong_value(name, error) from None

    @property
    def immutables(self) -> list[str]:
        """The parameters that an update may not change."""
        return [name for name, schema in self.declared.items() if schema.immutable]

    def changed_immutables(self, before: Parameters, *, as_given: bool = True) -> list[str]:
        """Return the immutable parameters that an update changes. `as_given`: values are compared before they are
        converted, as in requests of users; else a value that is not known yet counts as the same."""
        changed = []
        for name in self.immutables:
            if name in before.declared and before.has_value(name):
                new = self.given[name] if as_given and self.given.get(name) is not None else self.get(name)
                if new is not UNKNOWN and new != before[name]:
                    changed.append(name)
        return changed


def _wrong_value(name: str, error: Exception) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=_("Parameter '%(name)s' is invalid: %(reason)s")
                                           % {'name': name, 'reason': error})


_PSEUDO_TEXT = {'OS::stack_id': 'Stack ID', 'OS::stack_name': 'Stack Name', 'OS::project_id': 'Project ID',
                'AWS::StackId': 'Stack ID', 'AWS::StackName': 'Stack Name', 'AWS::Region': 'Region'}
PSEUDO_PARAMETERS = frozenset(_PSEUDO_TEXT)


def pseudo_parameters(edition: versions.Edition, *, name: str, stack_id: str | None, project_id: str,
                      arn: str) -> dict[str, str]:
    """Return the pseudo parameters. `stack_id` is None until the stack exists."""
    if edition.is_hot:
        return {'OS::stack_id': str(stack_id), 'OS::stack_name': name, 'OS::project_id': project_id}
    return {'AWS::StackId': arn, 'AWS::StackName': name, 'AWS::Region': REGION}


def group_complaints(groups: object, known: frozenset[str]) -> Iterator[exception.StackValidationFailed]:
    """Yield the errors of `parameter_groups`. `known`: names of parameters."""
    allowed = known | {'OS::stack_id', 'OS::project_id'}
    if groups is None:
        return
    if not isinstance(groups, list):
        yield _group_error(None, _('The parameter_groups should be a list.'))
        return
    seen: set[object] = set()
    for group in groups:
        if not isinstance(group, Mapping):
            yield _group_error(None, _('A parameter group must be a map. Found a %s instead') % kind_name(group))
            continue
        label, names = group.get('label', ''), group.get('parameters')
        if names is None:
            yield _group_error(label, _('The parameters must be provided for each parameter group.'))
            continue
        if not isinstance(names, list):
            yield _group_error(label, _('The parameters of parameter group should be a list.'))
            continue
        for name in names:
            if not isinstance(name, str) or name not in allowed:
                yield _group_error(label, _('The grouped parameter %s does not reference a valid parameter.') % name)
            elif name in seen:
                yield _group_error(
                    label, _('The %s parameter must be assigned to one parameter group only.') % name)
            else:
                seen.add(name)


def _group_error(label: object, text: str) -> exception.StackValidationFailed:
    path = ['parameter_groups'] if label is None else ['parameter_groups', label]
    if label == '':
        return exception.StackValidationFailed(error='Parameter Groups error', path=['parameter_groups.'],
                                               message=text)
    return exception.StackValidationFailed(error='Parameter Groups error', path=path, message=text)
