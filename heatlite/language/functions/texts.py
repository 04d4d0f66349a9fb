"""Functions that make text, or split it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlunsplit

from heatlite.common.i18n import _
from heatlite.common.limits import Limits, exceeded
from heatlite.language import budget as budgets
from heatlite.language.budget import ITEM
from heatlite.language.constraints import to_whole
from heatlite.language.document import measure
from heatlite.language.expression import Call, InvalidCall, Node, Scope
from heatlite.language.functions import key_search
from heatlite.language.kind_names import kind_name

PIECES_A_TURN = 200


def as_sorted_json(value: object, function: str, limits: Limits) -> str:
    """Encode a value as JSON. Raises RequestLimitExceeded.

    Structures may share parts, which are written each time: the size is computed, and taken from the budget, before.
    What escapes add to it is taken afterwards: they make a character up to six times as long.
    """
    size = ITEM * measure(value, limits)
    budget = budgets.here(limits)
    budget.make_text(function, size)
    budget.work(function, size // 100)
    text = json.dumps(value, sort_keys=True)
    if len(text) > size:
        budget.make_text(function, len(text) - size)
        budget.work(function, (len(text) - size) // 100)
    return text


class StrReplace(Call):
    """A function for performing string substitutions."""

    __slots__ = ()
    strict: ClassVar[bool] = False
    needs_values: ClassVar[bool] = False
    structures: ClassVar[bool] = True           # whether lists and maps as values become JSON

    def check(self) -> None:
        entries = self.literal_map()
        if entries is None:
            raise InvalidCall(_('Arguments to "%s" must be a map') % self.name)
        if 'params' not in entries or 'template' not in entries:
            example = ('template: This is var1 template var2', 'params:', '  var1: a', '  var2: string')
            raise InvalidCall(repr(syntax(self.name, example)))
        if not isinstance(entries['params'], dict | Node) or type(entries['params']).__name__ == 'ListNode':
            raise InvalidCall(_('"%s" parameters must be a mapping') % self.name)

    def result(self, args: Mapping[str, object], scope: Scope) -> object:
        return self._replace(args['template'], args['params'])

    def _replace(self, template: object, params: object) -> str:
        if not isinstance(template, str):
            raise TypeError(_('"%s" template must be a string') % self.name)
        if not isinstance(params, Mapping):
            raise TypeError(_('"%s" params must be a map') % self.name)
        budgets.work(self.name, 2 * len(params))
        table = {str(key): self._text(str(key), value) for key, value in params.items()}
        if '' in table:
            raise ValueError(_('"%s" cannot replace an empty text') % self.name)
        if not table:
            return template
        keys = sorted(table, key=lambda key: (-len(key), key))
        used: set[str] = set()
        text = ''.join(self._pieces(template, keys, table, used))
        if self.strict and len(used) < len(keys):
            raise ValueError(_('The following params were not found in the template: %s')
                             % ','.join(key for key in keys if key not in used))
        return text

    def _pieces(self, template: str, keys: list[str], table: dict[str, str], used: set[str]) -> list[str]:
        budget, limit = budgets.here(self.home.limits), self.home.limits.max_result
        budget.make_text(self.name, len(template), template.isascii())
        size, end = len(template), 0
        pieces: list[str] = []
        for start, key in key_search.places(self.name, template, keys):
            used.add(key)
            text = table[key]
            size += len(text)
            if size > limit:
                raise exceeded(_('"%s" gives more') % self.name, limit, 'max_function_result')
            budget.make_text(self.name, len(text), text.isascii())
            pieces += (template[end:start], text)
            end = start + len(key)
            if len(pieces) % PIECES_A_TURN == 0:
                budget.work(self.name, PIECES_A_TURN)
        pieces.append(template[end:])
        return pieces

    def _text(self, key: str, value: object) -> str:
        if self.needs_values and (value is None or value == '' or (isinstance(value, list | dict) and not value)):
            raise ValueError(_('%(function)s has an undefined or empty value for param %(key)s, must be a defined '
                               'non-empty value') % {'function': self.name, 'key': key})
        match value:
            case None:
                return ''
            case str():
                return value
            case int() | float():
                text = str(value)
                budgets.here(self.home.limits).make_text(self.name, len(text))
                budgets.work(self.name, 1 + len(text) // 100)
                return text
            case list() | dict() if self.structures:
                return as_sorted_json(value, self.name, self.home.limits)
        raise TypeError(_('"%(function)s" params must be strings or numbers, param %(key)s is not valid')
                        % {'function': self.name, 'key': key})


class StrReplaceScalars(StrReplace):
    """A function for performing string substitutions."""

    __slots__ = ()
    structures: ClassVar[bool] = False


class StrReplaceStrict(StrReplace):
    """A function for performing string substitutions, which fails when a param is not found in the template."""

    __slots__ = ()
    strict: ClassVar[bool] = True


class StrReplaceVeryStrict(StrReplaceStrict):
    """A function for performing string substitutions, which also fails when a param has no value."""

    __slots__ = ()
    needs_values: ClassVar[bool] = True


class CfnReplace(StrReplaceScalars):
    """A function for performing string substitutions."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 2:
            raise InvalidCall(_(
                'Incorrect arguments to "%(function)s" should be: {"%(function)s": '
                '[ {"$var1": "foo", "%%var2%%": "bar"}, "$var1 is %%var2%%"]}') % {'function': self.name})
        if not isinstance(items[0], dict | Node) or type(items[0]).__name__ == 'ListNode':
            raise InvalidCall(_('"%s" parameters must be a mapping') % self.name)

    def result(self, args: Any, scope: Scope) -> object:
        return self._replace(args[1], args[0])


def syntax(name: str, example: tuple[str, ...]) -> str:
    """Return the text for a missing key: an example, indented as clients expect it."""
    return '\n'.join([f'"{name}" syntax should be {name}:', *(' ' * 14 + line for line in example)])


class ListJoin(Call):
    """A function for joining one or more lists of strings."""

    __slots__ = ()
    several: ClassVar[bool] = True
    usage: ClassVar[str] = 'Incorrect arguments to "%(fn)s" should be: "%(fn)s" : [ " ", [ "str1", "str2"] ...]'

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) < 2 or (len(items) > 2 and not self.several):
            raise InvalidCall(_(self.usage) % {'fn': self.name})

    def result(self, args: Sequence[object], scope: Scope) -> str:
        delimiter, *lists = args
        joined: list[object] = []
        budget = budgets.here(self.home.limits)
        for items in lists:
            if items is None or (self.several and not isinstance(items, dict | list) and not items):
                continue
            if not isinstance(items, list):
                raise TypeError(_('"%s" must operate on a list') % self.name)
            budget.make_items(self.name, len(joined) + len(items))
            joined += items
        if not isinstance(delimiter, str):
            raise TypeError(_('"%s" delimiter must be a string') % self.name)
        budget.work(self.name, len(joined) // 4)
        size, is_ascii, texts = len(delimiter) * len(joined), delimiter.isascii(), []
        for item in joined:
            text = self._item(item)
            size += len(text)
            if size > self.home.limits.max_result:      # before the rest and the whole are made
                break
            is_ascii = is_ascii and text.isascii()
            texts.append(text)
        budget.make_text(self.name, size, is_ascii)
        return delimiter.join(texts)

    def _item(self, item: object) -> str:
        if item is None:
            return ''
        if isinstance(item, str):
            return item
        if isinstance(item, dict | list):
            return as_sorted_json(item, self.name, self.home.limits)
        raise TypeError(_('Items to join must be string, map or list not %s') % repr(item)[:200])


class Join(ListJoin):
    """A function for joining strings."""

    __slots__ = ()
    several: ClassVar[bool] = False
    usage: ClassVar[str] = 'Incorrect arguments to "%(fn)s" should be: "%(fn)s" : [ " ", [ "str1", "str2"]]'

    def _item(self, item: object) -> str:
        if item is None:
            return ''
        if isinstance(item, str):
            return item
        raise TypeError(_('Items to join must be strings not %s') % repr(item)[:200])


def split(text: str, delimiter: str | None, function: str, limits: Limits) -> list[str]:
    """Split as `str.split`. A part costs more than its characters: parts are counted before they are made."""
    budget = budgets.here(limits)
    count = text.count(delimiter) if delimiter is not None else len(text) // 2
    budget.make_items(function, 3 * count)
    budget.make_text(function, len(text), text.isascii())
    budget.work(function, count // 10 + len(text) // 1000)
    return text.split(delimiter)


class StrSplit(Call):
    """A function for splitting delimited strings into a list, or for taking one part."""

    __slots__ = ()

    def _wrong(self) -> str:
        return (_('Incorrect arguments to "%(fn)s" should be: "%(fn)s" : [ ",", "apples,pears", <index>]')
                % {'fn': self.name})

    def check(self) -> None:
        if isinstance(self.args, str) or self.literal_map() is not None:
            raise InvalidCall(self._wrong())

    def result(self, args: object, scope: Scope) -> str | list[str] | None:
        if not isinstance(args, list) or len(args) < 2:
            raise ValueError(self._wrong())
        delimiter, text, *rest = args
        if text is None:
            return None
        if not isinstance(text, str):
            raise TypeError(_('"%s" splits text only') % self.name)
        if delimiter == '' or not isinstance(delimiter, str | None):
            raise ValueError(_('"%s" delimiter must be a non-empty string') % self.name)
        parts = split(text, delimiter, self.name, self.home.limits)
        return self._part(parts, rest[0]) if rest else parts

    def _part(self, parts: list[str], index: object) -> str:
        try:
            place = to_whole(index)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(_('Incorrect index to "%(fn)s" should be: "%(fn)s" : [ ",", "apples,pears", <index>]')
                             % {'fn': self.name}) from None
        try:
            return parts[place]
        except IndexError:
            raise ValueError(_('Incorrect index to "%(function)s" should be between 0 and %(last)d')
                             % {'function': self.name, 'last': len(parts) - 1}) from None


class Split(Call):
    """A function for splitting strings."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 2:
            raise InvalidCall(_('Incorrect arguments to "%(fn)s" should be: "%(fn)s" : [ ",", "str1,str2"]]')
                              % {'fn': self.name})

    def result(self, args: Sequence[object], scope: Scope) -> list[str]:
        delimiter, text = args
        if not isinstance(delimiter, str) or isinstance((self.literal_list() or [None])[0], Node):
            raise TypeError(_('Delimiter for %s must be string') % self.name)
        if not isinstance(text, str):
            raise TypeError(_('String to split must be string; got a %s') % kind_name(text))
        if not delimiter:
            raise ValueError(_('Delimiter for %s must not be empty') % self.name)
        return split(text, delimiter, self.name, self.home.limits)


class Base64(Call):
    """A placeholder function for converting to base64: gives its argument."""

    __slots__ = ()

    def result(self, args: object, scope: Scope) -> str:
        if not isinstance(args, str):
            raise TypeError(_('"%s" argument must be a string') % self.name)
        return args


class Digest(Call):
    """A function for performing digest operations."""

    __slots__ = ()

    def result(self, args: object, scope: Scope) -> str:
        if not isinstance(args, list) or not all(isinstance(item, str) for item in args):
            raise TypeError(_('Argument to function "%s" must be a list of strings') % self.name)
        if len(args) != 2:
            raise ValueError(_('Function "%s" usage: ["<algorithm>", "<value>"]') % self.name)
        algorithm, text = args[0].lower(), args[1]
        if algorithm not in hashlib.algorithms_available:
            raise ValueError(_('Algorithm must be one of %s') % set(hashlib.algorithms_available))
        if algorithm.startswith('shake'):
            raise ValueError(_('Algorithm %s gives no digest of a fixed length') % algorithm)
        budgets.work(self.name, len(text) // 200)
        made: str = hashlib.new(algorithm, text.encode('latin-1'), usedforsecurity=False).hexdigest()
        return made


class MakeUrl(Call):
    """A function for performing substitutions on maps... of the parts of a URL."""

    __slots__ = ()
    TEXTS: ClassVar[tuple[str, ...]] = ('scheme', 'username', 'password', 'host', 'path', 'fragment')
    KEYS: ClassVar[tuple[str, ...]] = (
        'scheme', 'username', 'password', 'host', 'port', 'path', 'query', 'fragment')

    def check(self) -> None:
        if self.literal_map() is None:
            raise InvalidCall(_('The arguments to "%s" must be a map') % self.name)

    def validate(self) -> None:
        try:
            self._check_parts(self.literal_map() or {})
        except (ValueError, TypeError) as error:
            raise InvalidCall(str(error)) from None

    def _check_parts(self, args: Mapping[str, object]) -> None:
        """Check the literal parts; values that are calls are not checked."""
        unknown = [key for key in args if key not in self.KEYS]
        if unknown:
            raise ValueError(_('Invalid arguments to "%(function)s": %(keys)s')
                             % {'function': self.name, 'keys': ', '.join(unknown)})
        for key in self.KEYS:
            if key not in args:
                continue
            value = args[key]
            if key in self.TEXTS and not isinstance(value, str) and not _is_call(value):
                raise TypeError(_('The "%(key)s" argument to "%(function)s" must be a string')
                                % {'key': key, 'function': self.name})
            if key == 'port' and not _is_call(value):
                self._check_port(value, args)
            if key == 'query':
                if not isinstance(value, Mapping | Node):
                    raise TypeError(_('The "query" argument to "%s" must be a map') % self.name)
                return                  # what follows a query is checked when it is used

    def _check_port(self, port: object, args: Mapping[str, object]) -> None:
        try:
            number = to_whole(port)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(_('Invalid URL port "%(port)s" for %(function)s called with %(args)s')
                             % {'port': port, 'function': self.name, 'args': dict(args)}) from None
        if not 0 < number <= 65535:
            raise ValueError(_('Invalid URL port %d, must be in range 1-65535') % number)

    def result(self, args: object, scope: Scope) -> str:
        if not isinstance(args, Mapping):
            raise TypeError(_('The arguments to "%s" must be a map') % self.name)
        self._check_parts(args)
        scheme = args.get('scheme') or ''
        if ':' in scheme:
            raise ValueError(_('URL "scheme" should not contain \':\''))
        if not isinstance(args.get('fragment', ''), str):
            raise TypeError(_('The "fragment" argument to "%s" must be a string') % self.name)
        size = ITEM * measure(args, self.home.limits)
        budgets.here(self.home.limits).make_text(self.name, 3 * size)
        budgets.work(self.name, size // 8)
        query = urlencode(args.get('query') or {}, safe='/')
        path = quote(args.get('path') or '')
        place = self._place(args.get('username') or '', args.get('password') or '', args.get('host') or '',
                            args.get('port'))
        url: str = urlunsplit((scheme, place, path, query, quote(args.get('fragment') or '')))
        return url

    @staticmethod
    def _place(user: str, password: str, host: str, port: object) -> str:
        text = ''
        if user or password:
            text = quote(user, safe='') + (f':{quote(password, safe="")}' if password else '') + '@'
        if ':' in host:
            bare = host[1:-1] if host.startswith('[') and host.endswith(']') else host
            text += f'[{quote(bare, safe=":")}]'
        else:
            text += quote(host, safe='')
        return text if port is None or port == '' else f'{text}:{port}'


def _is_call(value: object) -> bool:
    return isinstance(value, Call)
