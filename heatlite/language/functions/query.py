"""The `yaql` function. The yaql package is loaded when a template uses it, and in engines before they take requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common.i18n import _
from heatlite.language.expression import Call, InvalidCall, Scope
from heatlite.language.functions.texts import syntax

if TYPE_CHECKING:
    from heatlite.common.limits import Limits
    from heatlite.language.functions.query_bounds import Statement


def warm_up(limits: Limits) -> None:
    """Load the yaql package and make its parser and its library: that takes 0.3 seconds, in which the first expression
    would block all threads, and 5 MiB."""
    from heatlite.language.functions import query_bounds  # loads yaql
    query_bounds.evaluate(query_bounds.parsed('$.data', limits.yaql_iterators, limits.yaql_memory), {'data': None},
                          limits.yaql_calls)


class Yaql(Call):
    """A function for executing a yaql expression."""

    __slots__ = ()

    def check(self) -> None:
        entries = self.literal_map()
        if entries is None:
            raise InvalidCall(_('Arguments to "%s" must be a map.') % self.name)
        if 'expression' not in entries or any(key not in ('expression', 'data') for key in entries):
            example = ('expression: $.data.var1.sum()', 'data:', '  var1: [3, 2, 1]')
            raise InvalidCall(repr(syntax(self.name, example)))

    def validate(self) -> None:
        expression = (self.literal_map() or {}).get('expression')
        if isinstance(expression, Call):
            return
        if not isinstance(expression, str):
            raise InvalidCall(_('The "expression" argument to %s must contain a string.') % self.name)
        try:
            self._parsed(expression)
        except ValueError as error:
            raise InvalidCall(str(error)) from None

    def _parsed(self, expression: str) -> Statement:
        from yaql.language import exceptions

        from heatlite.language.functions import query_bounds  # loads yaql
        limits = self.home.limits
        try:
            return query_bounds.parsed(expression, limits.yaql_iterators, limits.yaql_memory)
        except exceptions.YaqlException as error:
            raise ValueError(_('Bad expression %s.') % error) from None

    def result(self, args: Mapping[str, object], scope: Scope) -> object:
        expression, data = args['expression'], args.get('data', {})
        if not isinstance(expression, str):
            raise TypeError(_('The "expression" argument to %s must contain a string.') % self.name)
        from heatlite.language.functions import query_bounds  # loads yaql
        return query_bounds.evaluate(self._parsed(expression), {'data': data}, self.home.limits.yaql_calls)

