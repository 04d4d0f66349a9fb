"""Parses text to plain data: JSON, or YAML 1.1.

Plug-ins import `parse`, `simple_parse` and the names below them, too.

The YAML events of the C parser are assembled here by one loop without recursion: a document nested too deeply, or one
whose aliases expand without bound, is refused with a clear error and costs neither memory nor the process. The result
is that of one JSON round trip: map keys are text, sets are lists, timestamps stay text. Numbers are finite and no
longer than `limits.MOST_DIGITS`; text has no lone surrogates. Anything else is refused.
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, Protocol, TypeVar

import yaml

from heatlite.common import exception, recursion, turns
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_DIGITS, MOST_WRITTEN, USUAL, Bounds, exceeded, is_too_long, too_large

VERSION_KEYS = ('heat_template_version', 'AWSTemplateFormatVersion', 'HeatTemplateFormatVersion')

recursion.allow()                       # documents are walked and stored as JSON by recursion

ROOT: Final = 'root stack'
SLOW_READER_LIMIT: Final = 100_000      # characters; longer texts are read by the fast reader only
SLOW_BUILDER_LIMIT: Final = 4000        # characters of a text that is parsed once more for an error
WIDTH: Final = 120                      # characters of a line of a template that is written
SLOW_STEPS: Final = 20                  # of `turns`, for one event of the slow reader


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


Value = TypeVar('Value')


class _TextDates:
    """Resolver tables without timestamps."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if tag != 'tag:yaml.org,2002:timestamp']
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}


class yaml_loader(_TextDates, yaml.SafeLoader):  # type: ignore[misc]
    """The slow reader. It runs after a failure, for its error message, which has the place and the source line."""


class _Unfit(ValueError):
    """A number or text that JSON cannot carry."""


def _bounded(construct: Callable[[yaml.ScalarNode], float]) -> Callable[[yaml.ScalarNode], float]:
    """Wrap `construct`, which converts a scalar to a number, to refuse numbers that JSON cannot represent.

    Converting digits, base 60 above all, takes time quadratic in their number.
    """
    def made(node: yaml.ScalarNode) -> float:
        if len(node.value) > MOST_DIGITS:
            raise _Unfit(_('a number has more than %d digits') % MOST_DIGITS)
        try:
            number = construct(node)
        except OverflowError:
            number = math.inf
        if type(number) is float:
            if not math.isfinite(number):
                raise _Unfit(_('"%s" is not a finite number (quote it if it is text)') % node.value[:100])
        elif isinstance(number, int) and is_too_long(number):
            raise _Unfit(_('a number has more than %d digits') % MOST_DIGITS)
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


def parse(text: str, url: str | None = None, limits: Bounds = USUAL) -> dict[str, object]:
    """Parse a template. Raises ValueError (DocumentError) with the text that clients expect, RequestLimitExceeded.

    It must have a version key, with any value. `url` names it in errors.
    """
    document = simple_parse(text, url, limits)
    if not any(key in document for key in VERSION_KEYS):
        raise DocumentError(_('Template format version not found.'))
    return document


def simple_parse(text: str, url: str | None = None, limits: Bounds = USUAL) -> dict[str, Any]:
    """Parse as `parse`, but require no version. An empty text is an empty map."""
    if 0 <= limits.max_size < len(text):
        raise too_large(len(text), limits.max_size)
    document = read(text, url or ROOT, limits)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise DocumentError(_('The template is not a JSON object or YAML mapping.'))
    return document


def read(text: str, source: str, limits: Bounds, *, try_json: bool = True) -> object:
    """Parse a text. Raises DocumentError; RequestLimitExceeded when it nests or expands too far.

    `source` names the document in errors. A text that fails as JSON is read as YAML.
    """
    if try_json:
        try:
            document = loads(text)
        except _Unfit as error:
            raise _document_error(source, error) from None
        except (ValueError, RecursionError):
            pass
        else:
            return check_size(document, limits)
    return check_size(read_yaml(text, source, limits), limits)


def _no_constant(word: str) -> NoReturn:
    raise _Unfit(_('%s is not a number that JSON knows') % word)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Unfit(_('"%s" is not a finite number') % digits[:100])
    return number


def _short(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _Unfit(_('a number has more than %d digits') % MOST_DIGITS)
    return int(digits)


_JSON: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_STRICT_JSON: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, parse_int=_short)


def loads(text: str) -> object:
    """Parse JSON. Raises ValueError also for values outside of JSON (NaN, Infinity, 1e999) and for too long
    integers."""
    try:
        return _JSON.decode(text)
    except (_Unfit, json.JSONDecodeError):
        raise
    except ValueError:                      # the interpreter refuses to convert so many digits
        return _STRICT_JSON.decode(text)


def read_yaml(text: str, source: str, limits: Bounds) -> object:
    """Parse as `read`, YAML only and without the check of its expansion."""
    error: Exception | None = None
    for reader in readers(text):
        try:
            return _Builder(limits).build(text, reader)
        except yaml.YAMLError as found:
            error = found                           # the slow reader's message is the clearer one
        except DocumentError as found:
            raise _document_error(source, found) from None
        except (ValueError, OverflowError, _Refused) as found:
            raise _explain(text, source, error or found) from None
    raise _document_error(source, error)


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
    return _document_error(source, error)


def _document_error(source: str, error: Exception | None) -> DocumentError:
    mark = getattr(error, 'problem_mark', None) or getattr(error, 'context_mark', None)
    where = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
    if isinstance(error, DocumentError):
        where = (error.line, error.column)
    return DocumentError(_('Error parsing template [%(source)s] %(error)s')
                         % {'source': source, 'error': error} if source == ROOT
                         else _('Error parsing template %(source)s %(error)s')
                         % {'source': source, 'error': error}, *where)


EVENTS_A_TURN: Final = 200


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
        except _Unfit as error:
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


def check_size(value: Value, limits: Bounds) -> Value:
    """Return `value` itself, or refuse it.

    Raises RequestLimitExceeded if it nests too deeply or its aliases expand too far, HTTPBadRequest if it contains what
    JSON cannot represent: a number that is not finite or too long, a lone surrogate. Linear in what is stored, however
    often parts of it are shared.
    """
    measure(value, limits)
    return value


def check_text(value: object) -> object:
    """Check as `check_size`, without a limit of the size: for data whose text was limited before it was decoded."""
    measure(value, _UNBOUNDED)
    return value


class _Unbounded:
    max_size = max_depth = max_expansion = sys.maxsize


_UNBOUNDED: Final = _Unbounded()


def measure(value: object, limits: Bounds) -> int:
    """Return the number of values (of 16 characters) of `value`, counting shared parts each time. Raises as
    `check_size`.

    Keys count as other texts do: a short one is part of the value of its element. A text beyond ASCII takes up to four
    bytes for each character, and is counted so. The JSON of a document has at most 200 characters for each value
    counted here.
    """
    if type(value) is not dict and type(value) is not list:
        return 1 + _checked(value)
    if not value:
        return 1
    # Plain numbers, not tuples: the garbage collector, which tracks containers only, is not triggered by them.
    sizes: dict[int, int] = {}              # id of a container, or of a long text beyond ASCII -> its expanded size
    depths: dict[int, int] = {}             # the same for containers that contain others: the rest has depth 1
    opened: set[int] = set()                # containers whose children were put on the stack
    stack: list[Any] = [value]
    done = 0
    while stack:
        item = stack[-1]
        ident = id(item)
        if ident in sizes:
            stack.pop()
            continue
        is_map = type(item) is dict
        children = item.values() if is_map else item
        if ident not in opened:
            unknown = [child for child in children
                       if (type(child) is dict or type(child) is list) and id(child) not in sizes]
            if unknown:                     # most have none: they are visited once
                opened.add(ident)
                stack += unknown
                has_itself = not opened.isdisjoint(map(id, unknown))
                if has_itself or len(stack) > limits.max_expansion:
                    raise exceeded(_('The document expands further'), limits.max_expansion, 'max_template_expansion')
                continue
        stack.pop()
        size, depth = 1 + len(item), 0
        for child in children:
            kind = type(child)
            if kind is str:
                size += len(child) >> 4 if child.isascii() else _beyond_ascii(child, sizes)
            elif kind is dict or kind is list:
                size += sizes[id(child)]
                below = depths.get(id(child), 1)
                if below > depth:
                    depth = below
            elif kind is int:
                size += _checked(child)
            elif kind is float:
                _checked(child)
        if is_map:
            for key in item:
                if type(key) is str:
                    size += len(key) >> 4 if key.isascii() else _beyond_ascii(key, sizes)
        sizes[ident] = size
        if depth:
            depths[ident] = depth + 1
        if size > limits.max_expansion:
            raise exceeded(_('The document expands further'), limits.max_expansion, 'max_template_expansion')
        if depth + 1 > limits.max_depth:
            raise exceeded(_('The document nests deeper'), limits.max_depth, 'max_template_depth')
        done += len(item) + 1
        if done >= VALUES_A_TURN:
            turns.spend(done // 8)
            done = 0
    return sizes[id(value)]


VALUES_A_TURN: Final = 2000
LONG_TEXT: Final = 100                  # characters from which on a text is checked once, not at each of its places


def _beyond_ascii(text: str, sizes: dict[int, int]) -> int:
    """Return the size of a text beyond one, as `_checked`. It is encoded for that: one that is shared often, only
    once."""
    if len(text) < LONG_TEXT:
        return _checked(text)
    known = sizes.get(id(text))
    if known is None:
        known = sizes[id(text)] = _checked(text)
    return known


def _checked(value: object) -> int:
    """Return the size of a leaf beyond one. Raises HTTPBadRequest for what JSON cannot represent."""
    if isinstance(value, str):
        if value.isascii():
            return len(value) >> 4
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise exception.HTTPBadRequest(_('A text holds the lone surrogate %s, which is no character')
                                           % ascii(value[error.start])) from None
        return len(value) >> 2
    if isinstance(value, float):
        if not math.isfinite(value):
            raise exception.HTTPBadRequest(_('%s is not a number that JSON knows') % value)
    elif isinstance(value, int):
        if is_too_long(value):
            raise exception.HTTPBadRequest(_('A number has more than %d digits') % MOST_DIGITS)
        return value.bit_length() >> 6              # 19 digits
    return 0


def dumped(value: object, what: str) -> str:
    """Write a value for a service as YAML, keys sorted, maps and lists in blocks. `what`: names it in the error. Raises
    RequestLimitExceeded beyond MOST_WRITTEN: the writer is one call, in which no other green thread runs."""
    size = measure(value, _UNBOUNDED)
    if size > MOST_WRITTEN:
        raise exception.RequestLimitExceeded(_('%(what)s has more than %(limit)d values (of 16 characters each).')
                                             % {'what': what, 'limit': MOST_WRITTEN})
    turns.spend(size)
    written: str = yaml.dump(value, Dumper=_Writer, default_flow_style=False)
    return written


def template_text(document: Mapping[str, object]) -> str:
    """Write a template as YAML, keys in their order; each resource by a call of its own, for turns in between."""
    resources = document.get('resources')
    if not isinstance(resources, Mapping) or not resources:
        return _in_order(document)
    parts = [_in_order({name: section for name, section in document.items() if name != 'resources'}), 'resources:\n']
    parts += [textwrap.indent(_in_order({name: body}), '  ') for name, body in resources.items()]
    return ''.join(parts)


def _in_order(value: Mapping[str, object]) -> str:
    written: str = yaml.dump(dict(value), Dumper=_WithoutAliases, sort_keys=False, default_flow_style=False,
                             width=WIDTH, allow_unicode=True)
    return written


class _Writer(yaml.CSafeDumper):  # type: ignore[misc]
    """Spends a turn for each value before the text is written."""

    def represent_data(self, data: object) -> yaml.Node:
        turns.spend()
        return super().represent_data(data)


class _WithoutAliases(_Writer):
    """Repeats what is shared: the parts of one text cannot have the same anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class yaml_dumper(_Writer):
    """Writes texts of several lines as blocks."""


def _text_block(dumper: yaml.SafeDumper, text: str) -> object:
    style = '|' if '\n' in text else None
    return dumper.represent_scalar('tag:yaml.org,2002:str', text, style=style)


yaml_dumper.add_representer(str, _text_block)


def convert_json_to_yaml(json_text: str) -> str:
    """Convert a template from JSON to YAML, keys in their order. Raises ValueError."""
    written: str = yaml.dump(loads(json_text), Dumper=yaml_dumper, sort_keys=False, default_flow_style=False,
                             allow_unicode=True)
    return written
