"""Outputs of a stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language import versions
from heatlite.language.budget import Ledger
from heatlite.language.document import measure
from heatlite.language.expression import EvaluationContext, InvalidCall, Parser, Scope, condition_holds, resolve
from heatlite.language.versions import Keys

HEADING = 'Output validation error'
NO_DESCRIPTION = 'No description given'


class Owner(EvaluationContext, Protocol):
    """The definition that contains an output."""

    @property
    def keys(self) -> Keys: ...

    @property
    def edition(self) -> versions.Edition: ...

    @property
    def parser(self) -> Parser: ...

    def masked(self, text: str) -> str: ...

    @property
    def outputs_ledger(self) -> Ledger: ...


class OutputDefinition:
    """One output, parsed at first use."""

    def __init__(self, key: str, snippet: Mapping[str, object], owner: Owner) -> None:
        self.key = key
        self.snippet = snippet
        self.owner = owner
        self._parsed: tuple[object] | None = None
        self._enabled: bool | None = None

    @property
    def path(self) -> tuple[str, str]:
        return self.owner.keys.outputs, self.key

    @property
    def description(self) -> str:
        found = self.snippet.get(self.owner.keys.description) if isinstance(self.snippet, Mapping) else None
        return NO_DESCRIPTION if found is None else str(found)

    def check_shape(self) -> None:
        """Raise StackValidationFailed for an invalid output."""
        keys = self.owner.keys
        if not isinstance(self.snippet, Mapping):
            raise exception.StackValidationFailed(
                error=HEADING, path=self.path,
                message=_('Output definitions must be a map. Found a %s instead') % type(self.snippet).__name__)
        if keys.output_value not in self.snippet:
            raise exception.StackValidationFailed(
                error=HEADING, path=self.path,
                message=_('Each output definition must contain a %s key.') % keys.output_value)

    @property
    def enabled(self) -> bool:
        """Whether its condition holds. Raises StackValidationFailed for an invalid condition."""
        if self._enabled is None:
            keys = self.owner.keys
            condition = self.snippet.get(keys.condition) if self.owner.edition.has_conditions else None
            try:
                self._enabled = condition_holds(self.owner, condition)
            except InvalidCall as misuse:
                raise misuse.at(*self.path, keys.condition) from None
        return self._enabled

    @property
    def expression(self) -> object:
        """The parsed value, None when disabled. Raises StackValidationFailed."""
        if self._parsed is None:
            self.check_shape()
            value_key = self.owner.keys.output_value
            try:
                self._parsed = (self.owner.parser.parse(self.snippet[value_key]) if self.enabled else None,)
            except InvalidCall as misuse:
                raise misuse.at(*self.path, value_key) from None
        return self._parsed[0]

    def resolve(self, scope: Scope) -> object:
        """Return the value; None when disabled. Raises whatever a function raises: its text is the output's error."""
        expression = self.expression
        with self.owner.outputs_ledger.evaluation(self.key) as budget:
            value = resolve(expression, scope)
            budget.hold(measure(value, self.owner.limits))
        return value

    def evaluated(self, scope: Scope) -> tuple[object, str | None]:
        """Return the value and the text of the error, one of them None."""
        try:
            return self.resolve(scope), None
        except Exception as error:          # functions, yaql above all, may raise anything
            return None, self.owner.masked(exception.shortened(str(error)))
