"""Limits of YAQL expressions beyond those of yaql itself. Importing this module loads yaql.

yaql limits the elements of one sequence and the memory of one text or container, not what is inside. Here the number of
calls of an evaluation is limited, and it takes from the budget of the surrounding evaluation; patterns are matched by
`language.patterns`; containers count with all their contents; numbers are limited in length.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias

import yaql
from yaql.language import contexts, exceptions, specs, utils, yaqltypes
from yaql.standard_library import math as arithmetic

from heatlite.common.i18n import _
from heatlite.common.limits import MOST_DIGITS, exceeded, is_too_long
from heatlite.language import budget as budgets
from heatlite.language.document import key_text
from heatlite.language.patterns import Match, Pattern

LONGEST_KEPT: Final = 2000          # characters of an expression whose parsed form is cached
MOST_TOKENS: Final = 800            # words and operators of an expression: parsing one takes 60 microseconds
LONGEST: Final = 10_000             # characters of an expression
MOST_BITS: Final = 10_000           # of a number: longer ones cannot be converted to text
MOST_MODULAR: Final = 4_000_000_000     # bits of the exponent times those of the modulus squared: 10 milliseconds
COUNTED_A_STEP: Final = 8           # elements of an iterator that are counted in one step of the budget
MOST_VALUES: Final = 100_000        # values of a result, counting shared ones each time
TEXT_OF_VALUE: Final = 32           # characters that count as one more: together more than a function may give
STEPS_OF_CALL: Final = 90           # of the budget, for one function call
FUNCTION: Final = 'yaql'


class Statement(Protocol):
    """A parsed expression of yaql."""

    engine: object

    def evaluate(self, *, data: object, context: object) -> object: ...


class QueryContext(Protocol):
    """A context of yaql, in which the values of names are looked up."""

    def create_child_context(self) -> QueryContext: ...

    def __setitem__(self, name: str, value: object, /) -> None: ...


Selector: TypeAlias = Callable[[QueryContext], object]
"""A lambda of an expression."""


@functools.lru_cache(maxsize=8)
def engine(iterators: int, memory: int) -> Callable[[str], Statement]:
    """Return the parser of expressions. `iterators`: elements, `memory`: bytes."""
    made: Callable[[str], Statement] = yaql.YaqlFactory().create(options={
        'yaql.limitIterators': iterators, 'yaql.memoryQuota': memory, 'yaql.convertInputData': False,
        'yaql.convertOutputData': False})
    return made


@functools.lru_cache(maxsize=1)
def _library() -> object:
    """Return the standard library with our functions before its own, shared by all evaluations."""
    made = contexts.Context(yaql.create_context())
    for function, declare in FUNCTIONS:
        made.register_function(declare(function))
    return made


class Account:
    """The remaining limits of one YAQL evaluation."""

    def __init__(self, calls: int, budget: budgets.Budget) -> None:
        self.calls = self.most_calls = calls
        self.budget = budget
        self._weights: dict[int, tuple[object, int]] = {}      # id of a container -> itself, number of its values

    def call(self) -> None:
        """Count one function call."""
        self.calls -= 1
        if self.calls < 0:
            raise exceeded(_('The yaql expression takes more calls'), self.most_calls, '[yaql] call_limit')
        self.budget.work(FUNCTION, STEPS_OF_CALL)

    def made(self, value: object) -> None:
        """Count the result of a function.

        Sharing makes a structure of few containers a large one for code that compares, hashes or writes it.
        """
        if isinstance(value, str):
            self.budget.make_text(FUNCTION, len(value), value.isascii())
        elif isinstance(value, CONTAINERS):
            self.weight(value)
        elif isinstance(value, int) and is_too_long(value):
            raise ValueError(_('The result has more than %d digits') % MOST_DIGITS)

    def weight(self, value: Collection[object]) -> int:
        """Return the number of values in a container, keys and shared parts included, counted once."""
        known = self._weights.get(id(value))
        if known is not None:
            return known[1]
        size = 1
        for item in (*value.keys(), *value.values()) if isinstance(value, Mapping) else value:
            size += self.weight(item) if isinstance(item, CONTAINERS) else _leaf_weight(item)
        if size > MOST_VALUES:
            raise exceeded(_('A value of the yaql expression holds more values'), MOST_VALUES, '[yaql] memory_quota')
        self.budget.make(FUNCTION, 16 + 4 * len(value))        # it exists until the evaluation ends
        self.budget.work(FUNCTION, 1 + len(value) // 8)
        self._weights[id(value)] = value, size
        return size


def _leaf_weight(value: object) -> int:
    """Return the number of values that a text or number counts as."""
    if isinstance(value, str):
        return 1 + budgets.text_size(value) // TEXT_OF_VALUE
    return 1 + (value.bit_length() >> 6) if isinstance(value, int) else 1


CONTAINERS: Final = (tuple, list, set, frozenset, dict, utils.FrozenDict)


class CountingContext(contexts.Context):  # type: ignore[misc]
    """A context that counts calls and results, with all its child contexts."""

    def __init__(self, parent: Any = None, account: Account | None = None, **kwargs: object) -> None:
        self.account = account if account is not None else parent.account
        self.account.budget.work(FUNCTION, 1)           # each iteration of a lambda has its own context
        super().__init__(parent, **kwargs)

    def collect_functions(self, *args: object, **kwargs: object) -> object:
        self.account.call()
        return super().collect_functions(*args, **kwargs)

    def __call__(self, *args: object, **kwargs: object) -> object:
        function, account = super().__call__(*args, **kwargs), self.account

        def call(*inner: object, **named: object) -> object:
            result = function(*inner, **named)
            account.made(result)
            return result
        return call


@functools.lru_cache(maxsize=256)
def _parsed_before(expression: str, iterators: int, memory: int) -> Statement:
    return engine(iterators, memory)(expression)


def parsed(expression: str, iterators: int, memory: int) -> Statement:
    """Return the parsed expression, which can be evaluated any number of times.

    Raises errors of yaql, `YaqlException`, ValueError for one that is too long to be parsed without interruption.
    """
    _check_tokens(expression)
    parse = _parsed_before if len(expression) <= LONGEST_KEPT else _parsed_before.__wrapped__
    budgets.work(FUNCTION, 10 * len(expression))
    return parse(expression, iterators, memory)


def _check_tokens(expression: str) -> None:
    """Refuse an expression that is long or has many tokens. Linear in its length.

    Raises the error of yaql's lexer for a number that goes on as a word, which is always wrong: that lexer tries to
    divide its digits in every way before it says so, which takes seconds.
    """
    count = MOST_TOKENS + 1 if len(expression) > LONGEST else 0
    for token in TOKEN.finditer(expression) if not count else ():
        if token.group('wrong') is not None:
            raise exceptions.YaqlLexicalException(token.group()[0], token.start())
        count += 1
    if count > MOST_TOKENS:
        raise ValueError(_('A yaql expression has more than %(tokens)d words and signs, or %(length)d characters')
                         % {'tokens': MOST_TOKENS, 'length': LONGEST})


# No alternative gives back what it has consumed, and a text whose quote is missing reaches up to the end: otherwise
# each of many quotes would be searched for its partner again.
TOKEN = re.compile(r'''"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|`(?:[^`\\]|\\.)*+`?'''
                   r'''|(?<!\$)\d++(?P<wrong>[^\W\d]\w*+)?+|\w++|[^\w\s]''')


def evaluate(statement: Statement, data: object, calls: int) -> object:
    """Return the value of a parsed expression as plain data. Raises whatever a function raises,
    RequestLimitExceeded."""
    with budgets.shared() as budget:
        account = Account(calls, budget)
        context = CountingContext(_library(), account=account)
        found = statement.evaluate(data=_frozen(data, account), context=context)
        account.made(found)
        return _plain(found, account, statement.engine)


def _frozen(value: object, account: Account) -> object:
    """Convert plain data to yaql's immutable types."""
    if isinstance(value, Mapping):
        account.budget.make_items(FUNCTION, len(value))
        account.budget.work(FUNCTION, 1 + len(value))
        return utils.FrozenDict([(key, _frozen(item, account)) for key, item in value.items()])
    if isinstance(value, list | tuple):
        account.budget.make_items(FUNCTION, len(value))
        account.budget.work(FUNCTION, 1 + len(value))
        return tuple([_frozen(item, account) for item in value])
    return value


def _plain(value: object, account: Account, engine: object) -> object:
    """Convert a result of yaql to plain data: all iterables become lists."""
    if isinstance(value, Mapping):
        account.budget.make_items(FUNCTION, len(value))
        return {key if isinstance(key, str) else key_text(_plain(key, account, engine)): _plain(item, account, engine)
                for key, item in utils.limit_iterable(value.items(), engine)}
    if isinstance(value, list | tuple | set | frozenset) or utils.is_iterable(value):
        found = []
        for item in utils.limit_iterable(value, engine):
            account.budget.make(FUNCTION, budgets.ITEM)
            account.budget.work(FUNCTION, 1)
            found.append(_plain(item, account, engine))
        return found
    if isinstance(value, str):
        account.budget.make_text(FUNCTION, len(value), value.isascii())
    elif isinstance(value, int) and is_too_long(value):
        raise ValueError(_('The result has more than %d digits') % MOST_DIGITS)
    return value


# --- patterns -------------------------------------------------------------------------------------------------

def _regex(pattern: str, ignore_case: bool = False, multi_line: bool = False, dot_all: bool = False) -> Pattern:
    return Pattern(pattern, (re.IGNORECASE if ignore_case else 0) | (re.MULTILINE if multi_line else 0)
                   | (re.DOTALL if dot_all else 0))


def _matches(regexp: Pattern, string: str) -> bool:
    return regexp.search(string) is not None


def _matches_text(string: str, regexp: str) -> bool:
    return Pattern(regexp).search(string) is not None


def _misses(string: str, regexp: Pattern) -> bool:
    return regexp.search(string) is None


def _misses_text(string: str, pattern: str) -> bool:
    return Pattern(pattern).search(string) is None


def _published(context: QueryContext, found: Match) -> QueryContext:
    """Return a context with the groups of a match as `$1`, `$2`, ... and by their names."""
    inner = context.create_child_context()
    names = {number: name for name, number in found.re.groupindex.items()}
    for number, value in enumerate((found.group(), *found.groups())):
        record = {'value': value, 'start': found.start(number), 'end': found.end(number)}
        inner[f'${number + 1}'] = record
        if number in names:
            inner[f'${names[number]}'] = record
    return inner


def _search(context: QueryContext, regexp: Pattern, string: str, selector: Selector | None = None) -> object:
    found = regexp.search(string)
    if found is None:
        return None
    return found.group() if selector is None else selector(_published(context, found))


def _search_all(context: QueryContext, regexp: Pattern, string: str,
                selector: Selector | None = None) -> Iterator[object]:
    for found in regexp.all(string):
        yield found.group() if selector is None else selector(_published(context, found))


def _split(regexp: Pattern, string: str, max_split: int = 0) -> list[str | None]:
    return list(regexp.split(string, max_split))


def _split_text(string: str, regexp: Pattern, max_split: int = 0) -> list[str | None]:
    return _split(regexp, string, max_split)


def _joined(pieces: Iterator[str], engine: object) -> str:
    """Join pieces into one text, unless it takes more memory than yaql allows."""
    size, found = 0, []
    for piece in pieces:
        size += len(piece)
        _check_quota(size, engine)
        found.append(piece)
    return ''.join(found)


def _check_quota(size: int, engine: object) -> None:
    if 0 < utils.get_memory_quota(engine) < size:
        raise exceptions.MemoryQuotaExceededException


def _replace(regexp: Pattern, string: str, repl: str, engine: object, count: int = 0) -> str:
    return _joined(regexp.replaced(string, lambda found: str(found.expand(repl)), count), engine)


def _replace_text(string: str, regexp: Pattern, repl: str, engine: object, count: int = 0) -> str:
    return _replace(regexp, string, repl, engine, count)


def _replace_by(context: QueryContext, regexp: Pattern, string: str, repl: Selector, engine: object,
                count: int = 0) -> str:
    return _joined(regexp.replaced(string, lambda found: str(repl(_published(context, found))), count), engine)


def _replace_by_text(context: QueryContext, string: str, regexp: Pattern, repl: Selector, engine: object,
                     count: int = 0) -> str:
    return _replace_by(context, regexp, string, repl, engine, count)


def _is_regex(value: object) -> bool:
    return isinstance(value, Pattern)


# --- texts and numbers ----------------------------------------------------------------------------------------

def _replace_plain(string: str, old: str, new: str, engine: object, count: int = -1) -> str:
    times = string.count(old) if count < 0 else min(string.count(old), count)
    _check_quota(len(string) + times * max(len(new) - len(old), 0), engine)
    return string.replace(old, new, count)


def _replace_plain_all(string: str, str_func: Callable[[object], str],
                       replacements: Mapping[object, object], engine: object, count: int = -1) -> str:
    for key, value in replacements.items():
        string = _replace_plain(string, str_func(key), str_func(value), engine, count)
    return string


def _power(a: object, b: object, c: object = None) -> object:
    if isinstance(a, int) and isinstance(b, int):
        if isinstance(c, int):
            _check_modular(a.bit_length(), b.bit_length(), c.bit_length())
        elif b > 0:
            _check_bits(a.bit_length() * b)
    return arithmetic.pow_(a, b, c)


def _check_modular(base: int, exponent: int, modulus: int) -> None:
    """Refuse a power with a modulus that takes long. Each bit of the exponent costs a product of the modulus' size."""
    if max(base, exponent, modulus) > MOST_BITS or exponent * modulus ** 2 > MOST_MODULAR:
        raise ValueError(_('A power of numbers of %(base)d, %(exponent)d and %(modulus)d bits takes too long')
                         % {'base': base, 'exponent': exponent, 'modulus': modulus})


def _round(number: float, ndigits: int = 0) -> float:
    """Round as yaql. An integer is zero to more digits than it can have: `round` would compute that power of ten."""
    if isinstance(number, int) and ndigits < -MOST_DIGITS:
        return 0
    return round(number, ndigits)


def _length(collection: Iterator[object]) -> int:
    """Return the number of elements of an iterator, which may be endless: yaql limits it for all functions but this
    one."""
    count = 0
    for _item in collection:
        count += 1
        if count % (100 * COUNTED_A_STEP) == 0:
            budgets.work(FUNCTION, 100)
    budgets.work(FUNCTION, count % (100 * COUNTED_A_STEP) // COUNTED_A_STEP)
    return count


def _times(left: tuple[object, ...], right: int, engine: object) -> object:
    """Return a sequence repeated. The check of yaql compares the sizes of two headers, and so lets any number pass."""
    size = len(left) * right
    _check_quota(POINTER * size, engine)
    if size > MOST_VALUES:              # the memory may be unlimited
        raise exceeded(_('A value of the yaql expression holds more values'), MOST_VALUES, '[yaql] memory_quota')
    return left * right


def _times_reversed(left: int, right: tuple[object, ...], engine: object) -> object:
    return _times(right, left, engine)


POINTER: Final = 8                  # bytes of one place in a sequence


def _shift_left(value: int, bits_number: int) -> object:
    _check_bits(value.bit_length() + bits_number)
    return arithmetic.shift_bits_left(value, bits_number)


def _check_bits(bits: int) -> None:
    if bits > MOST_BITS:
        raise ValueError(_('The result has more than %d bits') % MOST_BITS)


def _declared(name: str, *, method: bool = False, both: bool = False, **types: object) -> Callable[[object], object]:
    """Declare the name and the types of a function's arguments for yaql. `both`: it is a function and a method."""
    def declare(function: object) -> object:
        definition = specs.get_function_definition(function, name=name)
        for argument, kind in types.items():
            definition.set_parameter(argument, kind, overwrite=True)
        definition.is_method, definition.is_function = method or both, not method or both
        return definition
    return declare


TEXT, NUMBER, COUNT = yaqltypes.String(), yaqltypes.Number(), yaqltypes.Integer()
PATTERN, SELECTOR = yaqltypes.PythonType(Pattern, False), yaqltypes.Lambda(with_context=True)
FUNCTIONS: tuple[tuple[Callable[..., object], Callable[[object], object]], ...] = (
    (_regex, _declared('regex', pattern=TEXT)),
    (_matches, _declared('matches', method=True, regexp=PATTERN, string=TEXT)),
    (_matches_text, _declared('matches', method=True, string=TEXT, regexp=TEXT)),
    (lambda string, regexp: _matches(regexp, string), _declared('#operator_=~', string=TEXT, regexp=PATTERN)),
    (_matches_text, _declared('#operator_=~', string=TEXT, regexp=TEXT)),
    (_misses, _declared('#operator_!~', string=TEXT, regexp=PATTERN)),
    (_misses_text, _declared('#operator_!~', string=TEXT, pattern=TEXT)),
    (_search, _declared('search', method=True, regexp=PATTERN, string=TEXT, selector=SELECTOR)),
    (_search_all, _declared('searchAll', method=True, regexp=PATTERN, string=TEXT, selector=SELECTOR)),
    (_split, _declared('split', method=True, regexp=PATTERN, string=TEXT, max_split=COUNT)),
    (_split_text, _declared('split', method=True, string=TEXT, regexp=PATTERN, max_split=COUNT)),
    (_replace, _declared('replace', method=True, regexp=PATTERN, string=TEXT, repl=TEXT, count=COUNT)),
    (_replace_text, _declared('replace', method=True, string=TEXT, regexp=PATTERN, repl=TEXT, count=COUNT)),
    (_replace_plain, _declared('replace', method=True, string=TEXT, old=TEXT, new=TEXT, count=COUNT)),
    (_replace_plain_all, _declared('replace', method=True, string=TEXT, str_func=yaqltypes.Delegate('str'),
                                   replacements=yaqltypes.PythonType(utils.MappingType, False), count=COUNT)),
    (_replace_by, _declared('replaceBy', method=True, regexp=PATTERN, string=TEXT, repl=SELECTOR, count=COUNT)),
    (_replace_by_text, _declared('replaceBy', method=True, string=TEXT, regexp=PATTERN, repl=SELECTOR, count=COUNT)),
    (_is_regex, _declared('isRegex')),
    (_power, _declared('pow', a=NUMBER, b=NUMBER, c=yaqltypes.Number(nullable=True))),
    (_round, _declared('round', number=NUMBER, ndigits=COUNT)),
    (_length, _declared('len', both=True, collection=yaqltypes.PythonType(utils.IteratorType, False))),
    (_times, _declared('#operator_*', left=yaqltypes.Sequence(), right=COUNT)),
    (_times_reversed, _declared('#operator_*', left=COUNT, right=yaqltypes.Sequence())),
    (_shift_left, _declared('shiftBitsLeft', value=COUNT, bits_number=COUNT)),
)
