"""The regular expressions of a package, and the work of matching them, counted in characters that are compared.

`Matcher` executes a parsed pattern as `re` does, with backtracking, and counts. `worst` makes texts from a pattern that
repeat each of its unbounded repetitions, alone and with what leads to it, and compares the work for two lengths.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from re import _compiler as compiler
from re import _constants as op
from re import _parser as parser
from types import ModuleType

from tests.architecture import source

MOST_TIMES = 300                # a repetition of at most as many times is a constant factor
SHORT, LONG = 80, 160          # characters of two texts that are compared
MOST_STEPS = 60_000
SEARCHES = frozenset({'search', 'findall', 'finditer', 'split', 'sub', 'subn', 'scanner'})
METHODS = SEARCHES | {'match', 'fullmatch'}
USE = re.compile(rf'\.({"|".join(METHODS)})\b|\bpattern=|^import re$', re.MULTILINE)
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


SINGLE = frozenset({op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN, op.CATEGORY})
Program = list[tuple]


class Characters(dict):
    """The characters that a pattern for one of them matches."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern

    def __contains__(self, character: str) -> bool:
        if character not in self.keys():
            self[character] = self.pattern.match(character) is not None
        return self[character]


class Matcher:
    """One parsed pattern. Repetitions of few times at most are done twice at most: their number is no matter here."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        self.tree = parser.parse(pattern, flags & ~re.DEBUG)
        self.flags = (self.tree.state.flags | flags) & ~re.DEBUG
        self.program = [*self.compiled(self.tree), ('end',)]
        self.text = ''
        self.steps = 0

    def work(self, text: str, method: str) -> int:
        """The number of comparisons for `text`, at most MOST_STEPS."""
        self.text, self.steps = text, 0
        after = 0
        for start in range(len(text) + 1) if method in SEARCHES else [0]:
            if start < after:
                continue
            end = self.run(self.program, start, is_whole=method == 'fullmatch')
            if self.steps >= MOST_STEPS or (end is not None and method == 'search'):
                break
            after = end or after
        return self.steps

    def run(self, program: Program, start: int, is_whole: bool = False) -> int | None:
        """Where the match at `start` ends, None without one."""
        waiting: list[tuple[int, int, dict[object, int]]] = [(0, start, {})]
        while waiting and self.steps < MOST_STEPS:
            at, place, marks = waiting.pop()
            while True:
                instruction = program[at]
                at += 1
                match instruction:
                    case 'one', characters:
                        self.steps += 1
                        if place == len(self.text) or self.text[place] not in characters:
                            break
                        place += 1
                    case 'split', first, other:
                        waiting.append((at + other, place, marks))
                        at += first
                    case 'jump', distance:
                        at += distance
                    case 'mark', key:
                        marks = {**marks, key: place}
                    case 'progress', key:
                        if marks[key] == place:
                            break
                    case 'place', pattern:
                        self.steps += 1
                        if not pattern.match(self.text, place):
                            break
                    case 'atomic', inner:
                        end = self.run(inner, place)
                        if end is None:
                            break
                        place = end
                    case 'look', inner, back, is_wanted:
                        if (place >= back and self.run(inner, place - back) is not None) != is_wanted:
                            break
                    case 'again', number:
                        self.steps += 1
                        known = self.text[marks.get(('start', number), 0):marks.get(('end', number), 0)]
                        if not self.text.startswith(known, place):
                            break
                        place += len(known)
                    case 'end',:
                        if not is_whole or place == len(self.text):
                            return place
                        break
        return None

    def compiled(self, tree: parser.SubPattern) -> Program:
        return [instruction for code, argument in tree for instruction in self.compiled_one(code, argument)]

    def compiled_one(self, code: object, argument: object) -> Program:
        if code in SINGLE:
            return [('one', Characters(self.single(code, argument)))]
        if code in REPEATS:
            return self.compiled_repetition(code, *argument)
        if code is op.BRANCH:
            return self.compiled_branches([self.compiled(branch) for branch in argument[1]])
        if code is op.SUBPATTERN:
            inner = self.compiled(argument[3])
            return [('mark', ('start', argument[0])), *inner, ('mark', ('end', argument[0]))]
        if code is op.ATOMIC_GROUP:
            return [('atomic', [*self.compiled(argument), ('end',)])]
        if code in (op.ASSERT, op.ASSERT_NOT):
            back = argument[1].getwidth()[0] if argument[0] < 0 else 0
            return [('look', [*self.compiled(argument[1]), ('end',)], back, code is op.ASSERT)]
        if code is op.GROUPREF:
            return [('again', argument)]
        if code is op.AT:
            return [('place', self.single(code, argument))]
        raise NotImplementedError(code)

    def compiled_branches(self, branches: list[Program]) -> Program:
        if len(branches) == 1:
            return branches[0]
        rest = self.compiled_branches(branches[1:])
        return [('split', 0, len(branches[0]) + 1), *branches[0], ('jump', len(rest)), *rest]

    def compiled_repetition(self, code: object, low: int, high: int, tree: parser.SubPattern) -> Program:
        if high is not op.MAXREPEAT and high <= MOST_TIMES:
            low, high = min(low, 2), min(high, 2)
        inner = self.compiled(tree)
        length = len(inner)
        program = inner * low
        if high is op.MAXREPEAT or high > MOST_TIMES:
            ways = (0, length + 3) if code is not op.MIN_REPEAT else (length + 3, 0)
            key = object()
            program = [*program, ('split', *ways), ('mark', key), *inner, ('progress', key), ('jump', -length - 4)]
        else:
            for number in range(high - low, 0, -1):
                rest = number * length + number - 1
                program = [*program, ('split', *((0, rest) if code is not op.MIN_REPEAT else (rest, 0))), *inner]
        return [('atomic', [*program, ('end',)])] if code is op.POSSESSIVE_REPEAT else program

    def single(self, code: object, argument: object) -> re.Pattern[str]:
        return compiler.compile(parser.SubPattern(self.tree.state, [(code, argument)]), self.flags)

    def is_in(self, code: object, argument: object, character: str) -> bool:
        return self.single(code, argument).match(character) is not None

    # --- texts -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def characters(self) -> list[str]:
        """One character of each kind that the pattern tells apart, as far as its literals and ranges name them."""
        named = dict.fromkeys('aZ0_ \t\n"#:/-.%')
        singles = []
        for code, argument in self.elements(self.tree):
            if code in SINGLE:
                singles.append(self.single(code, argument))
                for kind, each in argument if code is op.IN else [(code, argument)]:
                    if kind is not op.CATEGORY and each is not None:
                        named.update({chr(one): None for one in (each if kind is op.RANGE else [each])})
        kinds = {tuple(single.match(each) is None for single in singles): each for each in reversed(named)}
        return list(kinds.values())[::-1]

    def elements(self, tree: parser.SubPattern) -> Iterator[tuple[object, object]]:
        for code, argument in tree:
            yield code, argument
            for part in inside(code, argument):
                yield from self.elements(part)

    def shortest(self, tree: parser.SubPattern) -> str:
        """A short text that the elements of `tree` may match."""
        return ''.join(self.shortest_of(code, argument) for code, argument in tree)

    def shortest_of(self, code: object, argument: object) -> str:
        if code in SINGLE:
            return next((each for each in self.characters if self.is_in(code, argument, each)), '')
        if code in REPEATS:
            return self.shortest(argument[2]) * min(argument[0], 40)
        if code is op.BRANCH:
            return min((self.shortest(branch) for branch in argument[1]), key=len)
        if code is op.SUBPATTERN:
            return self.shortest(argument[3])
        if code is op.ATOMIC_GROUP:
            return self.shortest(argument)
        return ''

    def repetitions(self, tree: parser.SubPattern, before: str = '') -> Iterator[tuple[str, str]]:
        """For each unbounded repetition: a text that leads to it, and one that it may match once."""
        for code, argument in tree:
            if code in REPEATS and (argument[1] is op.MAXREPEAT or argument[1] > MOST_TIMES):
                for each in self.iterations(argument[2]):
                    yield before, each
            for part in inside(code, argument) if code not in (op.ASSERT, op.ASSERT_NOT) else ():
                yield from self.repetitions(part, before)
            before += self.shortest_of(code, argument)

    def iterations(self, inner: parser.SubPattern) -> list[str]:
        code, argument = inner[0]
        if len(inner) == 1 and code in SINGLE:
            return [each for each in self.characters if self.is_in(code, argument, each)]
        if len(inner) == 1 and code is op.SUBPATTERN:
            return self.iterations(argument[3])
        if len(inner) == 1 and code is op.BRANCH:
            return [each for branch in argument[1] if len(branch) for each in self.iterations(branch)]
        shortest = self.shortest(inner)
        return [shortest] if shortest else self.characters

    def worst(self, method: str) -> tuple[str, int, int] | None:
        """A text for which twice the length takes more than twice the work, with both counts; None if none is known."""
        for before, once in dict.fromkeys(self.repetitions(self.tree)):
            for first, again in dict.fromkeys([(before, once), ('', before + once), ('', before + once + ' ')]):
                for end in ('', *self.characters):
                    short, long = (self.work(first + again * (length // len(again) or 1) + end, method)
                                   for length in (SHORT, LONG))
                    if long > 3 * short or short >= MOST_STEPS:
                        return first + again + again + end, short, long
        return None


def inside(code: object, argument: object) -> list[parser.SubPattern]:
    """The sequences inside one element of a parsed pattern."""
    if code in REPEATS:
        return [argument[2]]
    if code is op.BRANCH:
        return list(argument[1])
    if code is op.SUBPATTERN:
        return [argument[3]]
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [argument[1]]
    return [argument] if code is op.ATOMIC_GROUP else []


# --- the patterns of a package ------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Use:
    """A pattern with the methods that are called on it. `place`: its module and name, or its line."""

    place: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]

    def worst(self) -> str | None:
        matcher = Matcher(self.pattern, self.flags)
        for method in sorted(self.methods):
            found = matcher.worst(method)
            if found is not None:
                return f'{self.place}: {self.pattern!r}: {method} of {found[0]!r}...: {found[1]} steps, then {found[2]}'
        return None


@dataclass
class Uses:
    """What all modules of a package do with regular expressions."""

    called: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))      # name -> methods
    own: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    found: list[Use] = field(default_factory=list)
    makers: list[str] = field(default_factory=list)        # modules that make a pattern where they use it, for each one


def uses(under: str = source.PACKAGE) -> Uses:
    """The regular expressions of all modules."""
    every = Uses()
    texts = {name: path.read_text() for name, path in source.modules(under).items()}
    trees = {name: ast.parse(text) for name, text in texts.items() if USE.search(text)}
    for name, tree in trees.items():
        own = {target.id for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)
               for target in _targets(node) if isinstance(target, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                match node.value:
                    case ast.Name(id=each) if each in own:
                        every.own[name, each].add(node.attr)
                    case ast.Name(id=each) | ast.Attribute(attr=each):
                        every.called[each].add(node.attr)
    for name, tree in trees.items():
        _literals(every, name, tree)
        if any(isinstance(node, ast.Import) and any(each.name == 're' for each in node.names)
               for node in ast.walk(tree)):
            every.found += _attributes(every, name, importlib.import_module(name))
    return every


def _targets(node: ast.Assign | ast.AnnAssign) -> Iterable[ast.AST]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [part for each in targets for part in ast.walk(each)]


def _attributes(every: Uses, module: str, of: ModuleType) -> Iterator[Use]:
    for name, value in vars(of).items():
        if isinstance(value, type) and value.__module__ == module:
            held = {f'{name}.{each}': inner for each, inner in vars(value).items()}
        else:
            held = {name: value}
        for place, each in held.items():
            for pattern in _patterns(each):
                last = place.rpartition('.')[2]
                methods = every.own[module, last] | every.called[last]
                yield Use(f'{module}.{place}', pattern.pattern, pattern.flags, frozenset(methods or {'search'}))


def _patterns(value: object, depth: int = 3) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict) and depth:
        for each in value.items():
            yield from _patterns(each, depth - 1)
    elif isinstance(value, list | tuple | set | frozenset) and depth:
        for each in value:
            yield from _patterns(each, depth - 1)


def _literals(every: Uses, module: str, tree: ast.Module) -> None:
    """Patterns that are given to functions of `re` where they are used, and those of shapes."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id='re'), attr=method), args=[pattern, *_]):
                if method not in METHODS:
                    continue
                try:
                    value = ast.literal_eval(pattern)
                except ValueError:
                    every.makers.append(module)
                    continue
                every.found.append(Use(f'{module}:{node.lineno}', value, _flags(node), frozenset({method})))
            case ast.keyword(arg='pattern', value=ast.Tuple(elts=[ast.Constant(value=str(value)), *_])):
                every.found.append(Use(f'{module}:{node.lineno}', value, re.DOTALL, frozenset({'fullmatch'})))


def _flags(node: ast.Call) -> int:
    text = ast.unparse(node)
    return sum(flag for name, flag in re.RegexFlag.__members__.items() if f're.{name}' in text and len(name) > 1)
