"""Templates grown from a grammar of the language, one for each seed, with sizes from a few to very many.

Most are wrong somewhere; that is meant. `case(seed)` is the same for ever, so that a failure can be run again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.hostile.cases import VERSION, Case

LARGEST = 900_000       # characters of all texts of one request
DEEPEST = 6             # levels of functions in functions
PATTERNS = ('^(a+)+$', '(a|aa)+b', 'a*a*a*a*a*b', '(.*)*x', '^[a-z]+$', '(?i)A{1,5}', '(a?){30}a{30}', r'(\w+\s?)*!',
            '((a{1,20}){1,20}){1,20}', '[', '(?P<x>a)(?P=x)*b', '(?=(a+))a*b\\1')
NUMBERS = (0, -1, 1, 7, 1000, 10 ** 6, 10 ** 9, 10 ** 18, -10 ** 30, 1.5, 1e308, '9' * 4000, '0x' + 'f' * 500, True)
QUERIES = ('range({n}).select($ * 2).sum()', '$.data.list.select($ + 1)', '("a" * {n}) =~ "{p}"',
           'regex("{p}").search("a" * {n})', 'regex("{p}").replace("aaaa", "b")', '$.data.list.orderBy($)',
           '$.data.list.groupBy($)', 'range({n}).aggregate($1 * 3, 1)', 'dict($.data.list.select([$, $]))',
           '$.data.list.join($.data.list, $1 = $2, [$1, $2])', '"x".replace("", "a" * {n})',
           'generate(0, $ < {n}, $ + 1)')
TYPES = ('OS::Heat::Value', 'OS::Heat::None', 'OS::Heat::RandomString', 'OS::Heat::TestResource',
         'OS::Heat::ResourceGroup', 'OS::Heat::AutoScalingGroup', 'OS::Heat::ResourceChain', 'OS::Heat::SoftwareConfig',
         'OS::Heat::MultipartMime', 'OS::Heat::CloudConfig', 'OS::No::Such', 'file:///nested.yaml')


class Grower:
    """One template. `left`: characters its texts may still have."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = LARGEST
        self.names = [f'r{number}' for number in range(self.count())]

    def count(self) -> int:
        """Mostly a few, sometimes hundreds, rarely thousands."""
        return int(self.random.choice((1, 2, 3, 5, 8, 20, 60, 200, 900, 3000)) * self.random.random()) + 1

    def text(self) -> str:
        size = min(self.left, int(10 ** (self.random.random() * 5.6)))
        self.left -= size
        return self.random.choice(('a', 'ab', 'x,', 'a b\n', 'é', '${a}', '%a%')) * (size // 2)

    def number(self) -> Any:
        return self.random.choice(NUMBERS)

    def expression(self, depth: int = 0) -> Any:
        if depth >= DEEPEST or self.left <= 0:
            return self.random.choice(('a', {'get_param': 'p0'}, {'get_resource': self.random.choice(self.names)}))
        kind = self.random.choice(FUNCTIONS) if self.random.random() < 0.75 else Grower.plain
        return kind(self, depth + 1)

    def several(self, depth: int) -> list[Any]:
        """Sometimes many references to one value: that is what costs little to write and much to carry."""
        count = self.count() if self.random.random() < 0.3 else self.random.randrange(1, 4)
        one = self.expression(depth + 2)
        return [one] * count if count > 5 else [self.expression(depth + 1) for _item in range(count)]

    def plain(self, depth: int) -> Any:
        return self.random.choice((
            self.text, self.number, lambda: None, lambda: {'k': self.text()}, lambda: [self.number()] * self.count(),
            lambda: [str(item) for item in range(self.count())],
            lambda: [{'k': item} for item in range(self.count())]))()

    def join(self, depth: int) -> Any:
        return {'list_join': [self.random.choice((',', '', self.text())), self.several(depth)]}

    def replace(self, depth: int) -> Any:
        name = self.random.choice(('str_replace', 'str_replace_strict', 'str_replace_vstrict'))
        return {name: {'template': self.expression(depth),
                       'params': {self.random.choice(('a', 'b', 'x')): self.expression(depth)}}}

    def repeat(self, depth: int) -> Any:
        lists = {name: self.random.choice((self.several(depth), [str(n) for n in range(self.count())]))
                 for name in ('%a%', '%b%', '%c%')[:self.random.randrange(1, 4)]}
        return {'repeat': {'template': self.expression(depth + 2), 'for_each': lists}}

    def yaql(self, depth: int) -> Any:
        query = self.random.choice(QUERIES).replace('{n}', str(self.count() * 3)).replace(
            '{p}', self.random.choice(PATTERNS).replace('\\', '\\\\'))
        return {'yaql': {'expression': query, 'data': {'list': self.expression(depth)}}}

    def simple(self, depth: int) -> Any:
        name = self.random.choice(('map_merge', 'list_concat', 'list_concat_unique', 'filter', 'contains', 'digest',
                                   'str_split', 'get_file', 'map_replace', 'make_url', 'equals', 'not', 'and', 'if'))
        return {name: self.several(depth) if self.random.random() < 0.8 else self.expression(depth)}

    def parameter(self, depth: int) -> Any:
        return {'get_param': self.random.choice(('p0', 'p1', 'p2', 'OS::stack_name', 'none', ['p2', 'k', 0]))}

    def attribute(self, depth: int) -> Any:
        return {'get_attr': [self.random.choice(self.names), self.random.choice(('value', 'show', 'refs', 'output'))]}

    def resource(self) -> Any:
        kind = self.random.choice(TYPES)
        properties: Any = {'value': self.expression()}
        member = {'type': self.random.choice(TYPES), 'properties': {'value': self.expression(2)}}
        match kind:
            case 'OS::Heat::ResourceGroup':
                properties = {'count': self.random.choice((self.number(), self.expression(3))), 'resource_def': member}
            case 'OS::Heat::AutoScalingGroup':
                properties = {'min_size': self.number(), 'max_size': self.number(), 'resource': member}
            case 'OS::Heat::ResourceChain':
                properties = {'resources': [self.random.choice(TYPES)] * self.count()}
            case 'OS::Heat::RandomString':
                properties = {'length': self.number()}
        made = {'type': kind, 'properties': properties}
        if self.random.random() < 0.3:
            made['depends_on'] = [self.random.choice(self.names) for _other in range(min(40, self.count()))]
        return made

    def request(self) -> dict[str, Any]:
        same = self.resource()
        resources = {name: same if len(self.names) > 30 else self.resource() for name in self.names}
        parameters = {
            'p0': {'type': 'string', 'default': self.text()},
            'p1': {'type': 'number', 'default': self.number()},
            'p2': {'type': 'json', 'default': {'k': [self.number()] * self.count()}}}
        if self.random.random() < 0.3:
            parameters['p0']['constraints'] = [{'allowed_pattern': self.random.choice(PATTERNS)}]
        one = self.expression()
        outputs = {f'o{number}': {'value': one} for number in range(self.count())}
        return {'template': {'heat_template_version': VERSION, 'parameters': parameters, 'resources': resources,
                             'outputs': outputs, 'conditions': {'c': self.expression(4)}},
                'files': {'a': self.text(), 'file:///nested.yaml': 'heat_template_version: 2018-08-31\n'}}


FUNCTIONS: tuple[Callable[[Grower, int], Any], ...] = (
    Grower.join, Grower.replace, Grower.repeat, Grower.yaql, Grower.simple, Grower.simple, Grower.parameter,
    Grower.attribute)


def case(seed: int) -> Case:
    return Case(f'seed {seed}', lambda: Grower(seed).request(), refused=False)
