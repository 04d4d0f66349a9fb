"""Functions that make lists and maps, or read parts of them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import ClassVar

from heatlite.common import turns
from heatlite.common.i18n import _
from heatlite.common.json_values import loads
from heatlite.common.limits import Limits, exceeded
from heatlite.language import budget as budgets
from heatlite.language.budget import ITEM, frozen
from heatlite.language.constraints import to_whole
from heatlite.language.document import key_text, measure
from heatlite.language.expression import Call, InvalidCall, ListNode, Node, Scope
from heatlite.language.functions.texts import syntax
from heatlite.language.kind_names import kind_name


class MapMerge(Call):
    """A function for merging maps."""

    __slots__ = ()
    positional: ClassVar[bool] = False

    def result(self, args: object, scope: Scope) -> dict[str, object]:
        if not isinstance(args, list | str):
            raise TypeError(_('Incorrect arguments to "%(fn)s" should be: "%(fn)s" : '
                              '[ { "key1": "val1" }, { "key2": "val2" } ]') % {'fn': self.name})
        merged: dict[str, object] = {}
        budget = budgets.here(self.home.limits)
        for item in args:
            if item is None:
                continue
            if not isinstance(item, Mapping):
                raise TypeError(_('Incorrect arguments: Items to merge must be maps. %(item)r is type %(type)s '
                                  'instead of a map') % {'item': item, 'type': kind_name(item)})
            budget.make(self.name, 2 * ITEM * len(item))
            budget.work(self.name, 1 + len(item) // 4)
            merged.update(item)
        return merged


class MapReplace(Call):
    """A function for performing substitutions on maps."""

    __slots__ = ()
    EXAMPLE: ClassVar[str] = ('"%(fn)s" : [ { "key1": "val1" }, {"keys": {"key1": "key2"}, '
                              '"values": {"val1": "val2"}}]')

    def result(self, args: object, scope: Scope) -> dict[str, object]:
        example = self.EXAMPLE % {'fn': self.name}
        wrong = ValueError(_('Incorrect arguments to "%(fn)s" should be: %(example)s')
                           % {'fn': self.name, 'example': example})
        if isinstance(args, Mapping):
            raise TypeError(_('%s (a map has 0 list items)') % wrong)
        if not isinstance(args, list) or len(args) != 2:
            raise wrong
        source, tables = ({} if part is None else part for part in args)
        not_maps = TypeError(_('Incorrect arguments: to "%(fn)s", arguments must be a list of maps. '
                               'Example:  %(example)s') % {'fn': self.name, 'example': example})
        if not isinstance(source, Mapping) or not isinstance(tables, Mapping):
            raise not_maps
        if any(key not in ('keys', 'values') for key in tables):
            raise wrong
        keys, values = ({} if tables.get(name) is None else tables[name] for name in ('keys', 'values'))
        if not isinstance(keys, Mapping) or not isinstance(values, Mapping):
            raise not_maps
        budget = budgets.here(self.home.limits)
        budget.make_items(self.name, 2 * len(source))
        budget.work(self.name, len(source))
        return self._replaced(source, keys, values)

    @staticmethod
    def _replaced(source: Mapping[str, object], keys: Mapping[str, str],
                  values: Mapping[str, object]) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in turns.paced(source.items()):
            new_key = keys.get(key)
            if isinstance(new_key, list | Mapping):
                raise TypeError(_('a key cannot be replaced by a %s') % kind_name(new_key))
            if new_key is None:
                new_key = key
            elif (new_key := key_text(new_key)) in source and new_key != key:
                raise ValueError(_('key replacement %s collides with a key in the input map') % new_key)
            elif new_key in result:
                raise ValueError(_('key replacement %s collides with a key in the output map') % new_key)
            if isinstance(value, str) and value in values:      # a number or boolean never equals a key
                value = values[value]
            result[new_key] = value
        return result


class ListConcat(Call):
    """A function for concatenating lists."""

    __slots__ = ()
    positional: ClassVar[bool] = False

    def result(self, args: object, scope: Scope) -> list[object]:
        if not isinstance(args, list):
            raise TypeError(_('Incorrect arguments to "%(fn)s" should be: "%(fn)s" : '
                              '[ [ <value 1>, <value 2> ], [ <value 3>, <value 4> ] ]') % {'fn': self.name})
        whole: list[object] = []
        budget = budgets.here(self.home.limits)
        for item in args:
            if item is None:
                continue
            if not isinstance(item, list):
                raise TypeError(_('Incorrect arguments: Items to concat must be lists. %(all)s contains an item '
                                  'that is not a list: %(item)s')
                                % {'all': _brief(args), 'item': _brief(item)})
            budget.make_items(self.name, len(item))
            budget.work(self.name, 1 + len(item) // 4)
            whole += item
        return whole


class ListConcatUnique(ListConcat):
    """A function for concatenating lists, with each value only once."""

    __slots__ = ()

    def result(self, args: object, scope: Scope) -> list[object]:
        whole = super().result(args, scope)
        _count_comparison(self, whole)
        seen: set[object] = set()
        unique: list[object] = []
        for item in turns.paced(whole):
            key = frozen(item)
            if key not in seen:
                seen.add(key)
                unique.append(item)
        return unique


def _count_comparison(call: Call, *values: object) -> None:
    """Take from the budget the cost of making `values` comparable."""
    size = sum(measure(value, call.home.limits) for value in values)
    budget = budgets.here(call.home.limits)
    budget.make(call.name, ITEM * size)
    budget.work(call.name, size)


def _brief(value: object) -> str:
    """Return the beginning of a value as JSON, for an error."""
    text = ''
    for piece in json.JSONEncoder().iterencode(value):
        text += piece
        if len(text) > LONGEST_BRIEF:
            return f'{text[:LONGEST_BRIEF]}...'
    return text


LONGEST_BRIEF = 1000


class Filter(Call):
    """A function for filtering out values from lists."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None:
            raise InvalidCall(_('Argument to "%s" must be a list') % self.name)
        if len(items) != 2:
            raise InvalidCall(_('"%(function)s" expected 2 arguments of the form [values, sequence] but got %(count)d '
                                'arguments instead') % {'function': self.name, 'count': len(items)})

    def result(self, args: Sequence[object], scope: Scope) -> object:
        values, items = args
        if not items and isinstance(items, list | str | None):
            return items
        if not isinstance(items, list):
            raise TypeError(_('"%s" only works with lists') % self.name)
        if not values and isinstance(values, list | str | None):
            return items
        if not isinstance(values, list):
            raise TypeError(_('"%s" filters a list of values') % self.name)
        _count_comparison(self, items, values)
        unwanted = frozenset([frozen(value) for value in turns.paced(values)])
        return [item for item in turns.paced(items) if frozen(item) not in unwanted]


class Contains(Call):
    """A function for checking whether specific value is in sequence."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if not items:
            raise InvalidCall(_('Incorrect arguments to "%(fn)s" should be: "%(fn)s" : '
                                '[ "value1", [ "value1", "value2"]]') % {'fn': self.name})
        if len(items) != 2:
            raise InvalidCall(_('Arguments to "%s" must be of the form: [value1, [value1, value2]]') % self.name)

    def result(self, args: Sequence[object], scope: Scope) -> bool:
        value, sequence = args
        if not isinstance(sequence, list | str):
            raise TypeError(_('Second argument to "%s" should be a sequence.') % self.name)
        if isinstance(sequence, str):
            if not isinstance(value, str):
                raise TypeError(_('"%s" finds only text in a text') % self.name)
            budgets.work(self.name, 1 + len(sequence) // 100)
            return value in sequence
        if isinstance(value, list | dict):
            _count_comparison(self, value, sequence)
        else:
            budgets.work(self.name, 1 + len(sequence) // 16)
        return value in sequence


class Repeat(Call):
    """A function for iterating over a list of items."""

    __slots__ = ()
    over_maps: ClassVar[bool] = False
    permutations: ClassVar[bool] = False

    def check(self) -> None:
        entries = self.literal_map()
        if entries is None:
            raise InvalidCall(_('Arguments to "%s" must be a map') % self.name)
        if 'for_each' not in entries or 'template' not in entries:
            example = ('template: This is %var%', 'for_each:', "  %var%: ['a', 'b', 'c']")
            raise InvalidCall(repr(syntax(self.name, example)))
        if self.permutations and not isinstance(entries.get('permutations', True), bool | Node):
            raise InvalidCall(_('"permutations" should be boolean type for %s function.') % self.name)

    def validate(self) -> None:
        for_each = (self.literal_map() or {}).get('for_each')
        if not isinstance(for_each, Mapping | Node) or isinstance(for_each, ListNode):
            raise InvalidCall(_('The "for_each" argument to "%s" must contain a map') % self.name)

    def result(self, args: Mapping[str, object], scope: Scope) -> list[object]:
        for_each, template = args['for_each'], args['template']
        nested = args.get('permutations', True) if self.permutations else True
        if not isinstance(nested, bool):
            raise TypeError(_('"permutations" should be boolean type for %s function.') % self.name)
        if not isinstance(for_each, Mapping):
            raise TypeError(_('The "for_each" argument to "%s" must contain a map') % self.name)
        if not for_each:
            raise ValueError(_('The "for_each" argument to "%s" must name at least one variable') % self.name)
        if any(value is None for value in for_each.values()):
            return []
        lists = [self._items(value, nested) for value in for_each.values()]
        return self._copies(template, list(for_each), lists, nested)

    def _items(self, value: object, nested: bool) -> list[str]:
        if isinstance(value, Mapping) and self.over_maps and nested:
            return list(value)
        if not isinstance(value, list):
            kinds = 'lists or maps' if self.over_maps and nested else 'lists'
            raise TypeError(_('The values of the "for_each" argument to "%(function)s" must be %(kinds)s')
                            % {'function': self.name, 'kinds': kinds})
        return value

    def _copies(self, template: object, names: list[str], lists: list[list[str]], nested: bool) -> list[object]:
        if not nested:
            if len({len(items) for items in lists}) != 1:
                raise ValueError(_('For %s, the length of for_each values should be equal if no nested loop.')
                                 % self.name)
            combinations: Iterable[tuple[str, ...]] = zip(*lists, strict=True)
            count = len(lists[0])
        else:
            combinations = itertools.product(*lists)
            count = 1
            for items in lists:
                count *= len(items)
        budget = _Budget(self.home.limits, self.name)
        budget.spend(count)
        budget.evaluation.make_items(self.name, count)
        for items in lists:
            for item in items if count else ():
                if not isinstance(item, str):
                    raise TypeError(_('"%(function)s" replaces text by text, not by a %(kind)s')
                                    % {'function': self.name, 'kind': kind_name(item)})
        copies = []
        for chosen in combinations:
            budget.work(1 + len(names) // 8)
            copies.append(_replaced(template, list(zip(names, chosen, strict=True)), budget))
        return copies


class _Budget:
    """The remaining output of one call: texts count their characters, everything else one.

    It takes from the budget of the evaluation as well.
    """

    def __init__(self, limits: Limits, function: str) -> None:
        self.left = self.limit = limits.max_result
        self.function = function
        self.evaluation = budgets.here(limits)

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise exceeded(_('"%s" gives more') % self.function, self.limit, 'max_function_result')

    def text(self, text: str) -> None:
        self.spend(len(text))
        self.evaluation.make(self.function, budgets.text_size(text))

    def items(self, value: Sized) -> None:
        self.spend(len(value))
        self.work(1 + len(value) // 8)
        self.evaluation.make(self.function, ITEM * (1 + len(value)))

    def work(self, steps: int) -> None:
        self.evaluation.work(self.function, steps)


def _replaced(value: object, pairs: list[tuple[str, str]], budget: _Budget) -> object:
    if isinstance(value, str):
        value = _replaced_text(value, pairs, budget)
        budget.text(value)
        return value
    if isinstance(value, Mapping):
        budget.items(value)
        return {_replaced(key, pairs, budget): _replaced(item, pairs, budget) for key, item in value.items()}
    if isinstance(value, list):
        budget.items(value)
        return [_replaced(item, pairs, budget) for item in value]
    return value


def _replaced_text(text: str, pairs: list[tuple[str, str]], budget: _Budget) -> str:
    """Replace one name after the other: each looks at the text that the ones before it have made."""
    looked = CHARACTERS_A_STEP
    for name, item in pairs:
        looked += CHARACTERS_A_STEP // 8 + len(text) * _cost_of_place(name, text)
        if looked >= CHARACTERS_A_TURN:
            budget.work(looked // CHARACTERS_A_STEP)
            looked %= CHARACTERS_A_STEP
        if name in text:
            budget.spend(text.count(name) * len(item))
            looked += len(text)
            text = text.replace(name, item)
            looked += len(text)
    budget.work(looked // CHARACTERS_A_STEP)
    return text


def _cost_of_place(name: str, text: str) -> int:
    """Nanoseconds for each place of `text`: the interpreter compares a name at each of them character by character if
    either is short, and takes linear time otherwise."""
    return 2 + (len(name) if len(text) < SHORT_TEXT else min(len(name), SHORT_NAME)) // 3


SHORT_TEXT, SHORT_NAME = 2500, 100  # of the search of CPython
CHARACTERS_A_STEP = 1000            # that a search looks at
CHARACTERS_A_TURN = 50_000          # after which they are taken from the budget


class RepeatOverMaps(Repeat):
    """A function for iterating over a list of items or the keys of a map."""

    __slots__ = ()
    over_maps: ClassVar[bool] = True


class RepeatWithPermutations(RepeatOverMaps):
    """A function for iterating over lists, in all combinations or position by position."""

    __slots__ = ()
    permutations: ClassVar[bool] = True


class Select(Call):
    """A function for selecting an item from a list or a map."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 2:
            raise InvalidCall(_('Arguments to "%s" must be of the form [index, collection]') % self.name)

    def result(self, args: Sequence[object], scope: Scope) -> object:
        index, collection = args
        if collection is None or collection == '':
            return ''
        if isinstance(collection, str):
            budget = budgets.here(self.home.limits)         # an empty list of two characters takes 56 bytes
            budget.make_text(self.name, 8 * len(collection))
            budget.work(self.name, len(collection) // 50)
            try:
                collection = loads(collection)
            except (ValueError, RecursionError) as error:
                raise ValueError(f'"{self.name}": {error}') from None
        if isinstance(collection, Mapping):
            if not isinstance(index, str):
                raise TypeError(_('Index to "%s" must be a string') % self.name)
            return collection.get(index, '')
        try:
            place = to_whole(index)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(_('Index to "%s" must be an integer') % self.name) from None
        if not isinstance(collection, list):
            raise TypeError(_('Arguments to %s not fully resolved') % self.name)
        try:
            return collection[place]
        except IndexError:
            return ''


MEMBER = re.compile(r'\.member\.([0-9]+)\.(.*)')


class MemberListToMap(Call):
    """A function to convert lists with enumerated keys and values to mapping."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 3:
            indent = ' ' * 12
            raise InvalidCall(_('Wrong Arguments try: "%s"')
                              % f"\n{indent}{{'{self.name}': ['Name', 'Value',\n{indent}{' ' * 25}"
                              f"['.member.0.Name=key',\n{indent}{' ' * 26}'.member.0.Value=door']]}}\n{indent}")
        for position, word in ((0, 'Key'), (1, 'Value')):
            if not isinstance(items[position], str):
                raise InvalidCall(_('%(function)s %(word)s Name must be a string')
                                  % {'function': self.name, 'word': word})

    def result(self, args: Sequence[object], scope: Scope) -> dict[str, str]:
        key_word, value_word, members = args
        if not isinstance(members, list):
            raise TypeError(_('Member list must be a list'))
        found: dict[str, dict[str, str]] = {}
        budget = budgets.here(self.home.limits)
        budget.make_items(self.name, 8 * len(members))
        for member in members:
            if not isinstance(member, str):
                raise TypeError(_('Member list items must be strings'))
            budget.make_text(self.name, len(member), member.isascii())
            budget.work(self.name, 2)
            name, equals, text = member.partition('=')
            if not equals:
                raise ValueError(_('"%s" is not of the form .member.<n>.<word>=<text>') % member)
            match = MEMBER.match(name)
            if match is not None:               # in a query of AWS there are other parameters beside a list
                found.setdefault(match[1].lstrip('0'), {})[match[2]] = text
        return {entry[key_word]: entry[value_word] for entry in found.values()
                if key_word in entry and value_word in entry}
