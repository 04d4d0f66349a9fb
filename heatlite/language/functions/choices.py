"""`if`, and the functions for conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from heatlite.common.i18n import _
from heatlite.language import budget as budgets
from heatlite.language.document import measure
from heatlite.language.expression import ABSENT, Call, InvalidCall, Node, Parser, Scope, condition_holds, evaluate
from heatlite.language.unknown import UNKNOWN


class If(Call):
    """A function to return corresponding value based on condition evaluation."""

    __slots__ = ('chosen', 'place')
    raw_args: ClassVar[bool] = True
    lengths: ClassVar[tuple[int, ...]] = (3,)

    def check(self) -> None:
        raw, parser = self.args
        if not isinstance(raw, list) or len(raw) not in self.lengths:
            raise InvalidCall(
                _('Arguments to "%s" must be of the form: [condition_name, value_if_true, value_if_false]') % self.name)
        self.place = 1 if condition_holds(self.home, raw[0]) else 2
        self.chosen: object = ABSENT if self.place >= len(raw) else self._parsed(parser, raw[self.place])
        self.args = raw
        self.refers = isinstance(self.chosen, Node) and self.chosen.refers

    def _parsed(self, parser: Parser, value: object) -> object:
        try:
            return parser.parse(value)
        except InvalidCall as misuse:
            misuse.path.insert(0, self.place)
            raise

    def value(self, scope: Scope) -> object:
        return ABSENT if self.chosen is ABSENT else evaluate(self.chosen, scope)

    def parts(self) -> Iterator[tuple[object, object]]:
        if isinstance(self.chosen, Node):
            yield self.place, self.chosen


class IfOrNothing(If):
    """A function to return corresponding value based on condition evaluation, or nothing."""

    __slots__ = ()
    lengths: ClassVar[tuple[int, ...]] = (2, 3)


class Equals(Call):
    """A function for comparing whether two values are equal."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 2:
            raise InvalidCall(_('Arguments to "%s" must be of the form: [value_1, value_2]') % self.name)

    def result(self, args: Sequence[object], scope: Scope) -> bool:
        if isinstance(args[0], list | dict) and isinstance(args[1], list | dict):
            size = min(measure(args[0], self.home.limits), measure(args[1], self.home.limits))
            budgets.work(self.name, 1 + size // 16)
        return bool(args[0] == args[1])


class _Logical(Call):
    """The base of `not`, `and` and `or`. A condition that is not known yet is replaced by the `assume_unknown` of the
    definition, so that a condition and its negation always differ."""

    __slots__ = ()

    def evaluated_args(self, scope: Scope) -> object:
        args = super().evaluated_args(scope)
        if isinstance(args, list):
            return [self._decided(item) for item in args]
        return self._decided(args)

    def _decided(self, condition: object) -> object:
        return self.home.assume_unknown if condition is UNKNOWN else condition


class Not(_Logical):
    """A function that acts as a NOT operator on a condition."""

    __slots__ = ()

    def check(self) -> None:
        if self.args is None:
            raise InvalidCall(_('Argument to "%s" must be a condition') % self.name)

    def result(self, args: Sequence[object], scope: Scope) -> bool:
        return not self.home.condition(args)


class CfnNot(Not):
    """A function that acts as a NOT operator on a condition."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 1:
            raise InvalidCall(_('Arguments to "%s" must be of the form: [condition]') % self.name)

    def result(self, args: Sequence[object], scope: Scope) -> bool:
        return not self.home.condition(args[0])


class _Several(_Logical):
    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None:
            raise InvalidCall(_('Arguments to "%s" must be a list of conditions') % self.name)
        if len(items) < 2:
            raise InvalidCall(_('The minimum number of condition arguments to "%s" is 2.') % self.name)


class And(_Several):
    """A function that acts as an AND operator on conditions."""

    __slots__ = ()

    def result(self, args: Sequence[object], scope: Scope) -> bool:
        return all(self.home.condition(item) for item in args)


class Or(_Several):
    """A function that acts as an OR operator on conditions."""

    __slots__ = ()

    def result(self, args: Sequence[object], scope: Scope) -> bool:
        return any(self.home.condition(item) for item in args)
