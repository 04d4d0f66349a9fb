"""Matches users' regular expressions within limits: some patterns would take years.

A pattern has the meaning that `re` gives it. One whose cost is proved small for the actual length of its text is
matched by `re`. The others are matched by `regex` under a time-out, after they were rewritten so that both modules
read them alike.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import regex

from heatlite.common.i18n import _
from heatlite.common.limits import MOST_PATTERN
from heatlite.language import budget as budgets

MOST_STEPS: Final = math.log(1e6)       # logarithm of estimated steps up to which `re` matches: some milliseconds
TRIES: Final = (1, 8, 30)               # milliseconds a match may take: most need one, none may block others for 50
LONGEST_SLOW: Final = 2000              # characters of a pattern for `regex`, which takes longer to compile
MOST_TURNS: Final = 20_000              # size of a pattern with its mandatory repetitions written out
# Characters that are matched under a time-out. `regex` scans all of them before it checks the time, lazily if asked to.
LONGEST, LONGEST_LAZY = 40_000, 20_000
WIDE: Final = 50_000                    # characters of ranges that `re` folds one by one to ignore case

Match: TypeAlias = 're.Match[str] | regex.Match[str]'
Result = TypeVar('Result')


class ParserState(Protocol):
    flags: int
    groups: int
    groupdict: dict[str, int]


class ParsedPattern(Protocol):
    """A sequence of a parsed pattern: (opcode, argument), and the argument's form depends on the opcode."""

    state: ParserState

    def __iter__(self) -> Iterator[tuple[object, Any]]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> tuple[object, object]: ...

    def getwidth(self) -> tuple[int, int]: ...


class Pattern:
    """A compiled pattern. Raises re.error for an invalid one, ValueError for one that is too long."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags
        self._tree = _parsed(pattern, flags)

    @property
    def groups(self) -> int:
        return int(self._tree.state.groups) - 1

    def match(self, text: str) -> Match | None:
        """Match at the start of `text`.

        Raises ValueError when it takes too long, RequestLimitExceeded when all patterns of the evaluation together do.
        """
        if self._is_cheap(len(text), 1):
            return _compiled(self.pattern, self.flags).match(text)
        return self._timed(text, lambda timeout: self._slow.match(text, timeout=timeout))

    def search(self, text: str) -> Match | None:
        """Search anywhere in `text`. Raises as `match`."""
        if self._is_cheap(len(text), len(text) + 1):
            return _compiled(self.pattern, self.flags).search(text)
        return self._timed(text, lambda timeout: self._slow.search(text, timeout=timeout))

    def all(self, text: str) -> list[Match]:
        """Find all matches that do not overlap. Raises as `match`."""
        if self._is_cheap(len(text), len(text) + 1):
            return list(_compiled(self.pattern, self.flags).finditer(text))
        return self._timed(text, lambda timeout: list[Match](self._slow.finditer(text, timeout=timeout)))

    def split(self, text: str, most: int = 0) -> Iterator[str | None]:
        """Yield the texts between all matches, and those of their groups; `most`: splits, 0 for any number."""
        end = 0
        for place, found in enumerate(self.all(text)):
            if most and place >= most:
                break
            yield text[end:found.start()]
            yield from found.groups()
            end = found.end()
        yield text[end:]

    def replaced(self, text: str, by: Callable[[Match], str], most: int = 0) -> Iterator[str]:
        """Yield the pieces of `text` with every match replaced; `most`: replacements, 0 for any number."""
        end = 0
        for place, found in enumerate(self.all(text)):
            if most and place >= most:
                break
            yield text[end:found.start()]
            yield by(found)
            end = found.end()
        yield text[end:]

    def _is_cheap(self, length: int, starts: int) -> bool:
        if starts < 0 or ((self.flags | self._tree.state.flags) & re.IGNORECASE and _width(self._tree) > WIDE):
            return False
        # One attempt costs the size of the pattern, and the whole text if groups repeat.
        each = _turns(self._tree) + 1 + (length if _repeats_groups(self._tree) else 0)
        ways = _sequence(self._tree, max(length, 1))
        return ways + math.log(each) + math.log(starts) <= MOST_STEPS and length * starts <= LONGEST ** 2

    @property
    def _slow(self) -> regex.Pattern[str]:
        return _slow(self.pattern, self.flags)

    def _timed(self, text: str, match: Callable[[float], Result]) -> Result:
        longest = LONGEST_LAZY if _is_lazy(self._tree) else LONGEST
        if len(text) > longest:
            raise ValueError(_('The pattern "%(pattern)s" is for texts of at most %(limit)d characters')
                             % {'pattern': self.pattern[:200], 'limit': longest})
        budget = budgets.here()
        for milliseconds in TRIES:
            budget.match(milliseconds)
            try:
                return match(milliseconds / 1000)
            except TimeoutError:
                continue
        raise ValueError(_('The pattern "%(pattern)s" took longer than the %(limit)s s one match may take')
                         % {'pattern': self.pattern[:200], 'limit': TRIES[-1] / 1000})


def match_end(pattern: str, text: str) -> int:
    """Where the match of `pattern` at the start of `text` ends; -1 without a match. Raises as `Pattern.match`."""
    found = Pattern(pattern).match(text)
    return found.end() if found else -1


def check(pattern: str) -> None:
    """Raise re.error for an invalid pattern, ValueError for one that is too long."""
    _parsed(pattern, 0)


@functools.lru_cache(maxsize=1000)
def _parsed(pattern: str, flags: int) -> ParsedPattern:
    if len(pattern) > MOST_PATTERN:
        raise ValueError(_('A pattern has more than %d characters') % MOST_PATTERN)
    try:
        tree: ParsedPattern = parser.parse(pattern, flags)
        _check_look_behind(tree)
    except (RecursionError, OverflowError) as error:
        raise re.error(str(error)) from None
    return tree


_compiled = functools.lru_cache(maxsize=500)(re.compile)


@functools.lru_cache(maxsize=500)
def _slow(pattern: str, flags: int) -> regex.Pattern[str]:
    """Return the pattern for `regex`, which expands mandatory repetitions when it compiles."""
    tree = _parsed(pattern, flags)
    if _turns(tree) > MOST_TURNS or len(pattern) > LONGEST_SLOW:
        raise ValueError(_('The pattern "%s" is too long, or repeats too often') % pattern[:200])
    every = flags | tree.state.flags
    spelled = _Spelled(tree).text
    found = 0
    for flag, other in ((re.IGNORECASE, regex.I), (re.MULTILINE, regex.M), (re.DOTALL, regex.S), (re.ASCII, regex.A)):
        if every & flag:
            found |= other
    try:
        return regex.compile(spelled, regex.V0 | found)
    except (regex.error, RecursionError) as error:
        raise ValueError(_('The pattern "%(pattern)s" cannot be matched within bounds: %(error)s')
                         % {'pattern': pattern[:200], 'error': error}) from None


# --- estimated cost -------------------------------------------------------------------------------------------

def _sequence(parsed: ParsedPattern, length: int) -> float:
    """Return the logarithm of the number of paths that matching `length` characters may try, estimated from above.

    Every choice in the pattern multiplies it; a choice inside a repetition multiplies it with each iteration.
    """
    return sum(_one(opcode, argument, length) for opcode, argument in parsed)


REPEATS: Final = (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT)


def _one(opcode: object, argument: Any, length: int) -> float:
    if opcode in REPEATS:
        low, high, inner = argument
        turns = length + 1 if high == opcodes.MAXREPEAT else min(int(high), length + 1)
        return _sequence(inner, length) * max(turns, int(low)) + math.log(max(turns - int(low) + 1, 1))
    if opcode is opcodes.BRANCH:
        return math.log(sum(math.exp(min(_sequence(branch, length), 500.0)) for branch in argument[1]))
    if opcode is opcodes.GROUPREF:
        return math.log(length + 1)             # compares that many characters
    return sum(_sequence(inner, length) for inner in _inside(opcode, argument))


def _inside(opcode: object, argument: Any) -> list[ParsedPattern]:
    """Return the sequences inside one element of a parsed pattern."""
    if opcode in REPEATS:
        return [argument[2]]
    if opcode is opcodes.BRANCH:
        return list(argument[1])
    if opcode is opcodes.SUBPATTERN:
        return [argument[3]]
    if opcode in (opcodes.ASSERT, opcodes.ASSERT_NOT):
        return [argument[1]]
    if opcode is opcodes.ATOMIC_GROUP:
        return [argument]
    if opcode is opcodes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


def _turns(parsed: ParsedPattern) -> int:
    """Return the number of elements of the pattern with its mandatory repetitions written out."""
    count = 0
    for opcode, argument in parsed:
        inner = sum(_turns(part) for part in _inside(opcode, argument))
        count += 1 + (inner * max(int(argument[0]), 1) if opcode in REPEATS else inner)
    return count


SINGLE: Final = frozenset({opcodes.LITERAL, opcodes.NOT_LITERAL, opcodes.ANY, opcodes.IN})


def _repeats_groups(parsed: ParsedPattern) -> bool:
    """Whether there is a repetition of more than one character, or a reference to a group."""
    return any((opcode in REPEATS and (len(argument[2]) != 1 or argument[2][0][0] not in SINGLE))
               or opcode is opcodes.GROUPREF or any(_repeats_groups(part) for part in _inside(opcode, argument))
               for opcode, argument in parsed)


def _is_lazy(parsed: ParsedPattern) -> bool:
    return any(opcode is opcodes.MIN_REPEAT or any(_is_lazy(part) for part in _inside(opcode, argument))
               for opcode, argument in parsed)


def _width(parsed: ParsedPattern) -> int:
    """Return the number of characters in all ranges."""
    count = 0
    for opcode, argument in parsed:
        if opcode is opcodes.IN:
            count += sum(each[1] - each[0] for kind, each in argument if kind is opcodes.RANGE)
        count += sum(_width(part) for part in _inside(opcode, argument))
    return count


def _check_look_behind(parsed: ParsedPattern) -> None:
    for opcode, argument in parsed:
        if opcode in (opcodes.ASSERT, opcodes.ASSERT_NOT) and argument[0] < 0:
            low, high = argument[1].getwidth()
            if low != high:
                raise re.error('look-behind requires fixed-width pattern')
        for part in _inside(opcode, argument):
            _check_look_behind(part)


# --- one spelling for both modules ----------------------------------------------------------------------------

_WORD, _SPACE = r'\p{L}\p{N}_', r'\s\x1c-\x1f'
_CATEGORIES: dict[object, tuple[str, str, bool]] = {       # in Unicode, in ASCII, whether it is negated
    opcodes.CATEGORY_DIGIT: (r'\p{Nd}', '0-9', False), opcodes.CATEGORY_NOT_DIGIT: (r'\p{Nd}', '0-9', True),
    opcodes.CATEGORY_SPACE: (_SPACE, r'\x09-\x0d\x20', False),
    opcodes.CATEGORY_NOT_SPACE: (_SPACE, r'\x09-\x0d\x20', True),
    opcodes.CATEGORY_WORD: (_WORD, 'a-zA-Z0-9_', False), opcodes.CATEGORY_NOT_WORD: (_WORD, 'a-zA-Z0-9_', True)}
_FLAGS = ((re.IGNORECASE, 'i'), (re.MULTILINE, 'm'), (re.DOTALL, 's'), (re.ASCII, 'a'), (re.UNICODE, 'u'))


def _character(code: int) -> str:
    if code > 255:
        return f'\\U{code:08x}'
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else f'\\x{code:02x}'


class _Spelled:
    """Writes a parsed pattern so that `regex` reads it as `re` does.

    It uses no shorthands, named lists, fuzzy matching or sets in sets, which the two read differently.
    """

    def __init__(self, tree: ParsedPattern) -> None:
        self.names = {number: name for name, number in tree.state.groupdict.items()}
        self.is_ascii = bool(tree.state.flags & re.ASCII)
        self.text = self._all(tree)

    def _all(self, parsed: ParsedPattern) -> str:
        return ''.join([self._one(opcode, argument) for opcode, argument in parsed])

    def _one(self, opcode: object, argument: Any) -> str:
        match opcode:
            case opcodes.LITERAL:
                return _character(argument)
            case opcodes.NOT_LITERAL:
                return f'[^{_character(argument)}]'
            case opcodes.ANY:
                return '.'
            case opcodes.IN:
                return self._set(argument)
            case opcodes.CATEGORY:
                return self._set([(opcode, argument)])
            case opcodes.AT:
                return self._at(argument)
            case opcodes.BRANCH:
                return f'(?:{"|".join([self._all(branch) for branch in argument[1]])})'
            case opcodes.SUBPATTERN:
                return self._group(*argument)
            case opcodes.ATOMIC_GROUP:
                return f'(?>{self._all(argument)})'
            case opcodes.ASSERT | opcodes.ASSERT_NOT:
                sign = '=' if opcode is opcodes.ASSERT else '!'
                return f'(?{"<" if argument[0] < 0 else ""}{sign}{self._all(argument[1])})'
            case opcodes.GROUPREF:
                return f'(?:\\g<{argument}>)'
            case opcodes.GROUPREF_EXISTS:
                number, yes, no = argument
                return f'(?({number}){self._all(yes)}|{"" if no is None else self._all(no)})'
            case opcodes.FAILURE:
                return '(?!)'
            case opcodes.MAX_REPEAT | opcodes.MIN_REPEAT | opcodes.POSSESSIVE_REPEAT:
                low, high, inner = argument
                times = f'{{{low},{"" if high == opcodes.MAXREPEAT else high}}}'
                kind = {opcodes.MAX_REPEAT: '', opcodes.MIN_REPEAT: '?', opcodes.POSSESSIVE_REPEAT: '+'}[opcode]
                return f'(?:{self._all(inner)}){times}{kind}'
        raise ValueError(_('A pattern uses %s, which cannot be matched within bounds') % opcode)

    def _group(self, number: int | None, added: int, removed: int, inner: ParsedPattern) -> str:
        before = self.is_ascii
        if added & re.ASCII or added & re.UNICODE:
            self.is_ascii = bool(added & re.ASCII)
        text = self._all(inner)
        self.is_ascii = before
        on, off = (''.join(letter for flag, letter in _FLAGS[:3] if flags & flag) for flags in (added, removed))
        flagged = f'(?{on}{"-" + off if off else ""}:{text})' if on or off else text
        if number is None:
            return flagged if flagged is not text else f'(?:{text})'
        return f'(?P<{self.names[number]}>{flagged})' if number in self.names else f'({flagged})'

    def _set(self, items: Iterable[tuple[object, Any]]) -> str:
        negated, inside, others = False, '', []
        for opcode, argument in items:
            if opcode is opcodes.NEGATE:
                negated = True
            elif opcode is opcodes.LITERAL:
                inside += _character(argument)
            elif opcode is opcodes.RANGE:
                inside += f'{_character(argument[0])}-{_character(argument[1])}'
            else:
                unicode, plain, is_not = _CATEGORIES[argument]
                text = plain if self.is_ascii else unicode
                if is_not:
                    others.append(f'[^{text}]')
                else:
                    inside += text
        if not others:
            return f'[{"^" if negated else ""}{inside}]'
        whole = '|'.join([*([f'[{inside}]'] if inside else []), *others])
        return f'(?:(?!{whole})(?s:.))' if negated else f'(?:{whole})'

    def _at(self, place: object) -> str:
        word = f'[{"a-zA-Z0-9_" if self.is_ascii else _WORD}]'
        match place:
            case opcodes.AT_BEGINNING:
                return '^'
            case opcodes.AT_BEGINNING_STRING:
                return r'\A'
            case opcodes.AT_END:
                return '$'
            case opcodes.AT_END_STRING:
                return r'\Z'
            case opcodes.AT_BOUNDARY:
                return f'(?:(?<={word})(?!{word})|(?<!{word})(?={word}))'
        return f'(?:(?<={word})(?={word})|(?<!{word})(?!{word}))'
