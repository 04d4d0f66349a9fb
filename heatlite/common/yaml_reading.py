"""Parses YAML 1.1 to plain data.

The YAML events of the C parser are assembled here by one loop without recursion: a document nested too deeply, or one
whose aliases expand without bound, is refused with a clear error and costs neither memory nor the process. The result
is that of one JSON round trip: map keys are text, sets are lists, timestamps stay text. Numbers are finite and no
longer than `limits.MOST_DIGITS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import yaml

from heatlite.common import turns
from heatlite.common.i18n import _
from heatlite.common.json_values import Unfit
from heatlite.common.limits import MOST_DIGITS, Bounds, exceeded, is_too_long

ROOT: Final = 'root stack'              # names the document of the request in errors
SLOW_READER_LIMIT: Final = 100_000      # characters; longer texts are read by the fast reader only
SLOW_BUILDER_LIMIT: Final = 4000        # characters of a text that is parsed once more for an error
SLOW_STEPS: Final = 20                  # of `turns`, for one event of the slow reader
EVENTS_A_TURN: Final = 200


class DocumentError(ValueError):
    """The text cannot be parsed. `line` and `column` count from 1, None if the place is unknown."""

    def __init__(self, text: str, line: int | None = None, column: int | None = None) -> None:
        self.line, self.column = line, column
        super().__init__(text)


class EventParser(Protocol):
    """A parser of PyYAML, as far as its events are used."""

    def check_event(self, *kinds: type) -> bool: ...

    def get_event(self) -> yaml.Event: ...

    def dispose(self) -> None: ...


class _TextDates:
    """Resolver tables without timestamps."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if tag != 'tag:yaml.org,2002:timestamp']
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}


class yaml_loader(_TextDates, yaml.SafeLoader):  # type: ignore[misc]
    """The slow reader. It runs after a failure, for its error message, which has the place and the source line."""


def _bounded(construct: Callable[[yaml.ScalarNode], float]) -> Callable[[yaml.ScalarNode], float]:
    """Wrap `construct`, which converts a scalar to a number, to refuse numbers that JSON cannot represent.

    Converting digits, base 60 above all, takes time quadratic in their number.
    """
    def made(node: yaml.ScalarNode) -> float:
        if len(node.value) > MOST_DIGITS:
            raise Unfit(_('a number has more than %d digits') % MOST_DIGITS)
        try:
            number = construct(node)
        except OverflowError:
            number = math.inf
        if type(number) is float:
            if not math.isfinite(number):
                raise Unfit(_('"%s" is not a finite number (quote it if it is text)') % node.value[:100])
        elif isinstance(number, int) and is_too_long(number):
            raise Unfit(_('a number has more than %d digits') % MOST_DIGITS)
        return number
    return made


_PREFIX: Final = 'tag:yaml.org,2002:'
_MERGE: Final = object()
_scalars = yaml.constructor.SafeConstructor()
_integer, _float = _bounded(_scalars.construct_yaml_int), _bounded(_scalars.construct_yaml_float)
yaml_loader.add_constructor(_PREFIX + 'timestamp', yaml.SafeLoader.construct_yaml_str)
yaml_loader.add_constructor(_PREFIX + 'int', lambda _loader, node: _integer(node))
yaml_loader.add_constructor(_PREFIX + 'float', lambda _loader, node: _float(node))
_CONSTRUCT: dict[str, Callable[[yaml.ScalarNode], object]] = {
    _PREFIX + 'null': _scalars.construct_yaml_null, _PREFIX + 'bool': _scalars.construct_yaml_bool,
    _PREFIX + 'int': _integer, _PREFIX + 'float': _float,
    _PREFIX + 'str': _scalars.construct_yaml_str, _PREFIX + 'binary': _scalars.construct_yaml_binary,
    _PREFIX + 'timestamp': _scalars.construct_yaml_str, _PREFIX + 'value': _scalars.construct_yaml_str,
    _PREFIX + 'merge': lambda node: _MERGE}
_LISTS = frozenset({None, '!', _PREFIX + 'seq', _PREFIX + 'omap', _PREFIX + 'pairs'})
_MAPS = frozenset({None, '!', _PREFIX + 'map', _PREFIX + 'set'})


class _Refused(Exception):
    """The fast reader gives up; the slow reader provides the error message."""


def read_yaml(text: str, source: str, limits: Bounds) -> object:
    """Parse as `read`, YAML only and without the check of its expansion."""
    error: Exception | None = None
    for reader in readers(text):
        try:
            return _Builder(limits).build(text, reader)
        except yaml.YAMLError as found:
            error = found                           # the slow reader's message is the clearer one
        except DocumentError as found:
            raise document_error(source, found) from None
        except (ValueError, OverflowError, _Refused) as found:
            raise _explain(text, source, error or found) from None
    raise document_error(source, error)


def readers(text: str) -> list[Callable[[str], EventParser]]:
    """PyYAML's readers, in the order to try them.

    The slow one accepts some texts that the fast one does not, such as `{get_attr:[server, name]}`, as Heat and its
    client do.
    """
    return [yaml.CSafeLoader, yaml.SafeLoader] if len(text) <= SLOW_READER_LIMIT else [yaml.CSafeLoader]


def _explain(text: str, source: str, error: Exception) -> DocumentError:
    """Return the error with the message and the place that the slow reader reports.

    It reads event by event, so that it may yield; only short texts are also assembled by it.
    """
    if len(text) <= SLOW_READER_LIMIT:
        try:
            parser = yaml_loader(text)
            while parser.check_event():
                parser.get_event()
                turns.spend(SLOW_STEPS)
            if len(text) <= SLOW_BUILDER_LIMIT:
                yaml.load(text, Loader=yaml_loader)
        except yaml.YAMLError as slow:
            error = slow
        except (ValueError, RecursionError, OverflowError):
            pass
    return document_error(source, error)


def document_error(source: str, error: Exception | None) -> DocumentError:
    mark = getattr(error, 'problem_mark', None) or getattr(error, 'context_mark', None)
    where = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
    if isinstance(error, DocumentError):
        where = (error.line, error.column)
    return DocumentError(_('Error parsing template [%(source)s] %(error)s')
                         % {'source': source, 'error': error} if source == ROOT
                         else _('Error parsing template %(source)s %(error)s')
                         % {'source': source, 'error': error}, *where)


class _Builder:
    """Assembles one document from parser events."""

    def __init__(self, limits: Bounds) -> None:
        self.limits = limits
        self.steps = 1                          # of `turns`, for one event
        self.merged = 0                         # entries copied by `<<`
        self.plain: dict[str, object] = {}      # text of a plain scalar -> its value, as a cache
        self.anchors: dict[str, object] = {}
        self.open_anchors: set[str] = set()

    def build(self, text: str, reader: Callable[[str], EventParser]) -> object:
        parser = reader(text)
        self.steps = 1 if reader is yaml.CSafeLoader else SLOW_STEPS
        try:
            next_event = parser.get_event
            next_event()                                            # stream start
            if parser.check_event(yaml.StreamEndEvent):
                return None
            next_event()                                            # document start
            document = self._document(next_event)
            next_event()                                            # document end
            if not parser.check_event(yaml.StreamEndEvent):
                raise _Refused(_('expected a single document in the stream'))
            return document
        finally:
            parser.dispose()

    def _document(self, next_event: Callable[[], yaml.Event]) -> object:
        # A frame is [container, key, whether the key is set, anchor, merged maps, whether it is a set, texts of numbers
        # as keys]; lists have only the first and the anchor.
        stack: list[list[Any]] = []
        scalar, alias = yaml.ScalarEvent, yaml.AliasEvent
        start_list, start_map = yaml.SequenceStartEvent, yaml.MappingStartEvent
        max_depth = self.limits.max_depth
        events = 0
        while True:
            event = next_event()
            events += 1
            if events == EVENTS_A_TURN:
                events = 0
                turns.spend(EVENTS_A_TURN * self.steps)
            kind = type(event)
            if kind is scalar:
                value = self._scalar(event)
                if event.anchor is not None:
                    self._anchor(event.anchor, value)
            elif kind is start_list or kind is start_map:
                if event.tag not in (_LISTS if kind is start_list else _MAPS):
                    raise _Refused(_('could not determine a constructor for the tag %r') % event.tag)
                if event.anchor is not None:
                    self._anchor(event.anchor, None)
                    self.open_anchors.add(event.anchor)
                as_set = kind is start_map and event.tag == _PREFIX + 'set'
                stack.append([[] if kind is start_list else {}, None, False, event.anchor, None, as_set, None])
                if len(stack) > max_depth:
                    raise exceeded(_('The document nests deeper'), max_depth, 'max_template_depth')
                continue
            elif kind is alias:
                if event.anchor in self.open_anchors:
                    raise _Refused(_('the alias *%s stands inside its own anchor') % event.anchor)
                if event.anchor not in self.anchors:
                    raise _Refused(_('found undefined alias %r') % event.anchor)
                value = self.anchors[event.anchor]
            else:                                                   # the end of a list or map
                frame = stack.pop()
                value = self._closed(frame)
                if frame[3] is not None:
                    self.anchors[frame[3]] = value
                    self.open_anchors.discard(frame[3])
            if not stack:
                return value
            self._put(stack[-1], value)

    def _anchor(self, name: str, value: object) -> None:
        if name in self.anchors:
            raise _Refused(_('found duplicate anchor %r') % name)
        self.anchors[name] = value

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        value: str = event.value
        tag = event.tag
        try:
            if tag is not None and tag != '!':
                return _construct(tag, value)
            if not event.implicit[0]:
                return value                                        # quoted
            if value not in self.plain:
                self.plain[value] = plain_value(value)
            return self.plain[value]
        except Unfit as error:
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            raise DocumentError(_('%(error)s, line %(line)d, column %(column)d')
                                % {'error': error, 'line': line, 'column': column}, line, column) from None

    @staticmethod
    def _put(frame: list[Any], value: object) -> None:
        container = frame[0]
        if type(container) is list:
            container.append('<<' if value is _MERGE else value)
        elif not frame[2]:
            if type(value) is dict or type(value) is list:
                raise _Refused(_('found unhashable key'))
            if type(value) is not str and value is not _MERGE:
                if frame[6] is None:
                    frame[6] = {}
                value = _text_of_key(value, frame[6])
            frame[1], frame[2] = value, True
        else:
            frame[2] = False
            if frame[1] is _MERGE:
                if frame[4] is None:
                    frame[4] = []
                frame[4].append(value)
            else:
                container[frame[1]] = '<<' if value is _MERGE else value

    def _closed(self, frame: list[Any]) -> object:
        container = frame[0]
        if type(container) is list:
            return container
        if frame[4] is not None:
            merged: dict[str, object] = {}
            for value in frame[4]:
                for mapping in reversed(value) if isinstance(value, list) else [value]:
                    if not isinstance(mapping, dict):
                        raise _Refused(_('expected a mapping or list of mappings for merging'))
                    self._count_merged(mapping)
                    merged.update(mapping)
            merged.update(container)
            container = merged
        return list(container) if frame[5] else container

    def _count_merged(self, mapping: Mapping[str, object]) -> None:
        self.merged += len(mapping) + 1
        turns.spend(len(mapping) // 20 + 1)
        if self.merged > self.limits.max_expansion:
            raise exceeded(_('The document expands further'), self.limits.max_expansion, 'max_template_expansion')


def plain_value(text: str) -> object:
    """Return the value of a plain scalar. Raises ValueError for a number that JSON cannot represent."""
    for tag, pattern in _TextDates.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return _construct(tag, text)
    return text


def _construct(tag: str, value: str) -> object:
    construct = _CONSTRUCT.get(tag)
    if construct is None:
        raise _Refused(_('could not determine a constructor for the tag %r') % tag)
    try:
        made = construct(yaml.ScalarNode(tag, value))
    except (KeyError, IndexError):                                  # `!!bool maybe`, an empty `!!int`
        raise _Refused(_('%(value)r is no %(tag)s') % {'value': value, 'tag': tag}) from None
    return made.decode('utf-8', 'replace') if isinstance(made, bytes) else made


def _text_of_key(key: object, known: dict[str, str]) -> str:
    """Return the text of a key that is no text. Equal numbers, such as 1, 1.0 and true, are one key: with the first
    text.

    `known`: the texts of a map's numbers so far. It has no numbers as keys: those that are equal modulo 2**61 - 1 have
    one hash, and thousands of them in one map take the square of their number of comparisons.
    """
    text = key_text(key)
    number = str(int(key)) if isinstance(key, bool) or (isinstance(key, float) and key.is_integer()) else text
    return known.setdefault(number, text)


def key_text(key: object) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if isinstance(key, bool | int | float | None) else str(key)


def clean(value: object) -> object:
    """`value` as after one JSON round trip: text keys, lists for tuples and sets; copies all containers."""
    if isinstance(value, Mapping):
        return {key_text(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [clean(item) for item in value]
    if isinstance(value, bytes):
        return value.decode('utf-8', 'replace')
    return value
