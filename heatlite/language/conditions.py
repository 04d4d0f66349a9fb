"""Conditions: named booleans of a stack that depend on its parameters alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.language.expression import PLACEHOLDERS, Call, InvalidCall, Parser, check, resolve
from heatlite.language.kind_names import kind_name
from heatlite.language.unknown import UNKNOWN

HEADING = 'Condition validation error'
STEPS_PER_CONDITION = 5         # of `turns`, for checking one condition
MOST_NESTED = 200               # conditions that refer to each other in a chain

# Conditions under evaluation: evaluation may switch green threads, so each has its own set.
_open: ContextVar[frozenset[tuple[int, str]]] = ContextVar('open conditions', default=frozenset())


class Conditions:
    """The `conditions` section. Each condition is evaluated once, when it is first needed."""

    def __init__(self, section: object, parser: Parser, section_key: str, unknown: bool) -> None:
        """`unknown`: whether a condition holds whose value is not known yet."""
        self.section = section
        self.parser = parser
        self.key = section_key
        self._unknown = unknown
        self._parsed: dict[str, object] = {}
        self._known: dict[str, bool] = {}

    @property
    def definitions(self) -> Mapping[str, object]:
        """The section. Raises StackValidationFailed when it is not a map."""
        if not isinstance(self.section, Mapping):
            raise exception.StackValidationFailed(
                error='Conditions validation error',
                message=_('Condition definitions must be a map. Found a %s instead') % kind_name(self.section))
        return self.section

    def parsed(self, name: str) -> object:
        """Return the parsed condition. Raises StackValidationFailed with the path of an invalid call."""
        if name not in self._parsed:
            try:
                self._parsed[name] = self.parser.parse(self.definitions[name])
            except InvalidCall as misuse:
                raise misuse.at(self.key, name) from None
        return self._parsed[name]

    def holds(self, value: object) -> bool:
        """Whether a condition, given by name or as a boolean, holds.

        Raises ValueError for any other value, StackValidationFailed for a wrong definition, and whatever a function in
        the definition raises.
        """
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in self.definitions:
            return self._evaluated(value)
        raise ValueError(_('Invalid condition "%s"') % (value,))

    def _evaluated(self, name: str) -> bool:
        if name in self._known:
            return self._known[name]
        opened, mark = _open.get(), (id(self), name)
        if mark in opened:
            raise exception.StackValidationFailed(
                error=HEADING, message=_('Circular definition for condition "%s"') % name)
        if len(opened) >= MOST_NESTED:
            raise exception.StackValidationFailed(
                error=HEADING, message=_('Conditions refer to conditions more than %d deep') % MOST_NESTED)
        token = _open.set(opened | {mark})
        try:
            parsed = self.parsed(name)
            if not isinstance(parsed, bool | Call):
                raise self._wrong(name, parsed)
            value = resolve(parsed, PLACEHOLDERS)
            if value is UNKNOWN:
                value = self._unknown
            if not isinstance(value, bool):
                raise self._wrong(name, value)
        finally:
            _open.reset(token)
        self._known[name] = value
        return value

    def _wrong(self, name: str, value: object) -> exception.StackValidationFailed:
        return exception.StackValidationFailed(
            error=HEADING, message=_('The definition of condition "%(name)s" is invalid: %(value)s')
            % {'name': name, 'value': value})

    def diagnostics(self) -> Iterator[tuple[str, exception.HeatException]]:
        """Check type and arguments of each definition, in order; yield (name, error)."""
        for name, definition in self.definitions.items():
            turns.spend(STEPS_PER_CONDITION)
            try:
                parsed = self.parsed(name)
            except exception.StackValidationFailed as error:
                yield name, error
                continue
            if not isinstance(parsed, bool | Call):
                yield name, self._wrong(name, definition)
            for misuse in check(parsed):
                yield name, misuse.at(self.key, name)
