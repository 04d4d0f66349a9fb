"""Encodes and decodes JSON columns, and turns rows into dataclasses.

Columns that may hold secrets (tables.SEALED) are written through `encoder(tx)`, always encrypted: types store private
keys, passwords and signed URLs there. What users wrote (tables.WRITTEN_BY_USERS) goes through `source_encoder(tx)`:
encrypted if the operator has configured it. All are read alike, so rows written in clear stay readable.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime
from itertools import islice
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from heatlite.common import crypt, exception, limits
from heatlite.common.i18n import _
from heatlite.planning.states import Action, Status

T = TypeVar('T')
K = TypeVar('K', bound='CachedRow')

EMPTY: Mapping[str, Callable[[], object]] = {'{}': dict, '[]': list}
CACHED_OBJECTS = 2_000          # objects that `cached_reader` caches of each class,
CACHED_OF_A_LIST = 200          # of a list the first ones,
SMALL = 600                     # and only of rows with no more characters: three times as many as usual
ACTIONS = {member.value: member for member in Action}
STATUSES = {member.value: member for member in Status}
WORDS = {member: member.value for kind in (Action, Status) for member in kind}
UNDECODABLE = (exception.HeatException, ValueError, RecursionError)     # errors of text with another key, or no JSON
NO_TEXTS: Mapping[int, str] = {}
NO_MEMBERS: Mapping[str, Mapping[str, object]] = {}
HIDES_NOTHING = frozenset({*EMPTY, 'null'})
# The definition of a resource that has no more than properties, which have a column of their own.
USUAL = re.compile(r'\{"type":"[^"\\]*","deletion_policy":"Delete"\}')


def _plain(value: object) -> object:
    """Convert values that JSON cannot represent, as templates and plug-ins produce them."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value, key=str)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode('utf-8', 'replace')
    if isinstance(value, Iterable):
        return list(value)
    return str(value)


# ASCII only: every database accepts it, whatever lone surrogates or NULs a value contains.
encode: Callable[[object], str] = json.JSONEncoder(separators=(',', ':'), default=_plain).encode


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A value as JSON text, for large values that are encoded before the transaction that stores them."""

    text: str


class Undecoded(Mapping[str, object]):
    """A document as JSON text, decoded when it is first read: that of a large stack or plan takes as long as a tenth of
    its update, which often does not need it. `default`: stands for one that cannot be decoded; without it, reading
    raises as `decode`."""

    def __init__(self, text: str, default: Mapping[str, object] | None = None) -> None:
        self._text = text
        self._default = default

    @functools.cached_property
    def _decoded(self) -> Mapping[str, object]:
        if self._default is None:
            found: Mapping[str, object] = decode(self._text)
            return found
        either = document_or_none(self._text)
        return self._default if either is None else either

    def __getitem__(self, name: str) -> object:
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded)

    def __len__(self) -> int:
        return len(self._decoded)


def text_of(value: object) -> str:
    """Return the JSON text of a value, which may be encoded already."""
    return value.text if isinstance(value, Encoded) else encode(value)


def decode(text: str | None) -> Any:
    """Decode a column. Raises InvalidEncryptionKey for text that was encrypted with another key than the configured
    one."""
    if text is None:
        return None
    if len(text) == 2 and text in EMPTY:        # most columns: a tenth of the time of the parser
        return EMPTY[text]()
    return json.loads(clear(text))


@dataclasses.dataclass(frozen=True)
class Unreadable:
    """Stands for a value that cannot be decoded: it was encrypted with another key, perhaps. `reason`: for users."""

    reason: str


def decode_each(text: str | None) -> object:
    """As `decode`, but return Unreadable instead of an error: for statements that read rows of several requests or
    owners at once, of which one must not cost the others."""
    try:
        return decode(text)
    except UNDECODABLE as error:
        return Unreadable(str(error) if isinstance(error, exception.HeatException)
                          else _('It is not stored as JSON: %s.') % type(error).__name__)


def document_or_none(text: str | None) -> Mapping[str, object] | None:
    """As `decode_each`, for documents that may be missing: None also if there is none that can be decoded."""
    value = decode_each(text)
    return value if isinstance(value, dict) else None


def clear(text: str) -> str:
    """Return the JSON text of a column that may be encrypted. Raises as `decode`."""
    return crypt.unseal(text) if crypt.is_sealed(text) else text


def encode_or_null(value: object, encode: Callable[[object], str] = encode) -> str | None:
    return None if value is None else encode(value)


def encoder(tx: sa.Connection, texts: Mapping[int, str] = NO_TEXTS) -> Callable[[object], str]:
    """Return the encoder for the columns of tables.SEALED in `tx`. `texts`: by `id`, of values that are encoded already
    and live until the end of `tx`."""
    seal = tx.get_execution_options().get('seal')
    if seal is None and not texts:
        return encode

    def encoded(value: object) -> str:
        text = texts.get(id(value))
        if text is None:
            text = encode(value)
        return text if seal is None or text in HIDES_NOTHING else seal(text)

    return encoded


def hides_nothing(column: str, text: str) -> bool:
    """Whether text in a column of tables.SEALED need not be sealed: it is empty, or the column `type` says the same."""
    return text in HIDES_NOTHING or (column == 'definition' and USUAL.fullmatch(text) is not None)


def once(encode: Callable[[object], str]) -> Callable[[object], str]:
    """Return the encoder with which one object is encoded, and sealed, once however often it is stored.

    Keeps the objects, so use it for what is written together."""
    known: dict[int, tuple[object, str]] = {}

    def encoded(value: object) -> str:
        found = known.get(id(value))
        if found is None:
            found = known[id(value)] = value, encode(value)
        return found[1]

    return encoded


def source_encoder(tx: sa.Connection) -> Callable[[object], str]:
    """Return the encoder for the columns of tables.WRITTEN_BY_USERS in `tx`."""
    return encoder(tx) if tx.get_execution_options().get('seal_sources') else encode


def sealed(tx: sa.Connection, text: str) -> str:
    """Seal JSON text as the columns of tables.SEALED store it."""
    seal = tx.get_execution_options().get('seal')
    return text if seal is None or text in HIDES_NOTHING else seal(text)


def source_sealed(tx: sa.Connection, text: str) -> str:
    """Seal JSON text as the columns of tables.WRITTEN_BY_USERS store it."""
    return sealed(tx, text) if tx.get_execution_options().get('seal_sources') else text


def columns(table: sa.Table, cls: type) -> list[sa.Column[object]]:
    """Return the columns that the fields of `cls` are named after, in the order of the fields."""
    return [table.c[field.name] for field in dataclasses.fields(cls)]


def reader(cls: type[T], *json_columns: str, members: Mapping[str, Mapping[str, object]] = NO_MEMBERS,
           decode: Callable[[str | None], object] = decode) -> Callable[[Iterable[Any]], T]:
    """Return a function from a row (columns in the order of the fields) to `cls`, with these columns decoded.
    `members`: column -> what each of its texts stands for; others stay texts, such as those of a newer release.
    `decode`: `decode_each` or `document_or_none` where one row must not cost others.

    `cls`: a dataclass that sets nothing but its fields. If it is frozen, its constructor makes a call for each field,
    which takes as long as reading the row: so the fields are set all at once.
    """
    names = [field.name for field in dataclasses.fields(cls)]       # type: ignore[arg-type]
    places = [number for number, name in enumerate(names) if name in json_columns]
    named = [(names.index(column), of_text) for column, of_text in members.items()]

    def read(row: Iterable[Any]) -> T:
        values = list(row)
        for place in places:
            if values[place] is not None:
                values[place] = decode(values[place])
        for place, of_text in named:
            values[place] = of_text.get(values[place], values[place])
        found = object.__new__(cls)
        found.__dict__.update(zip(names, values, strict=True))
        return found

    return read


class CachedRow:
    """Base of dataclasses for rows that are read again and again. They are compared by identity (`eq=False`), so that
    what is made of a cached object can be cached, too."""

    is_cached = False                   # whether the same row gives the same object for a while: no field


class ListReader(Protocol[K]):
    def __call__(self, rows: Iterable[Sequence[object]], before: int = 0) -> list[K]:
        """Read rows as `reader`. `before`: how many rows of the same list were read before these."""


def cached_reader(cls: type[K], *json_columns: str) -> ListReader[K]:
    """Return a reader of lists: as `reader` for each row, but small rows that are as they were give the same objects.

    It is for rows that show no secrets. Of a list only the first rows are cached, so that a long one does not displace
    all others.
    """
    read = reader(cls, *json_columns)

    @functools.lru_cache(CACHED_OBJECTS)
    def read_once(*row: object) -> K:
        found = read(row)
        vars(found)['is_cached'] = True
        return found

    def read_list(rows: Iterable[Sequence[object]], before: int = 0) -> list[K]:
        waiting = iter(rows)
        found = [read_once(*row) if _is_small(row) else read(row)
                 for row in islice(waiting, max(0, CACHED_OF_A_LIST - before))]
        found += map(read, waiting)
        return found

    return read_list


def _is_small(row: Sequence[object]) -> bool:
    """Of a row as it is stored: the texts of JSON columns bound what they contain."""
    size = 0
    for value in row:
        if isinstance(value, str):
            size += len(value)
    return size <= SMALL


def stored_text(column: str, text: str) -> str:
    """Text for a column of limits.STORED_TEXT: shortened to its limit, and as `clean` returns it. No other place
    applies these limits; every statement that writes such a column takes its value from here."""
    return clean(exception.shortened(text, limits.STORED_TEXT[column]))


def clean(text: str) -> str:
    """Replace the characters that some database refuses: PostgreSQL refuses NUL, all refuse lone surrogates."""
    if text.isascii():
        return text.replace('\0', '\ufffd') if '\0' in text else text
    return text.encode('utf-8', 'replace').decode().replace('\0', '\ufffd')
