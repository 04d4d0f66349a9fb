"""Parses the heads of HTTP/1 requests strictly, after RFC 9110 and 9112.

A proxy in front of the service may read a head that is not well formed in another way than the service does, and then
see another end of the request, or other credentials (request smuggling). The parser of the standard library takes a
carriage return within a value for the end of the field. It ignores a field whose name is followed by a space, or that
has no colon, and all fields after it. Such heads are refused here. One leniency is left: lines may end with a line feed
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

MOST_FIELDS: Final = 100
KEEP_ALIVE, CLOSE = 'keep-alive', 'close'

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST = re.compile(rf'({_TOKEN}) ([\x21-\x7e\x80-\xff]+) HTTP/([0-9])\.([0-9])\r?\n')
_FIELD = re.compile(rf'({_TOKEN}):([\t\x20-\x7e\x80-\xff]*)\r?\n')
_ABSOLUTE = re.compile('https?://([^/?]*)(.*)', re.IGNORECASE)
_HOST = re.compile(r"[-A-Za-z0-9._~!$&'()*+,;=%]*(:[0-9]*)?|\[[0-9A-Fa-f:.%A-Za-z]+\](:[0-9]*)?")
_LENGTH = re.compile('[0-9]{1,18}')


class BadHead(Exception):
    """A head that is refused with `status`; the text quotes nothing of it."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Fields:
    """The fields of a head, with the attributes by which the WSGI server reads them."""

    __slots__ = ('_first', '_headers')
    type: Final = 'text/plain'                  # what the server takes for the type of a body without one

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._headers = pairs
        self._first = {name.lower(): value for name, value in reversed(pairs)}

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of the first field of this name, in any case."""
        return self._first.get(name.lower(), default)

    def get_all(self, name: str) -> list[str]:
        """Return the values of all fields of this name, in any case."""
        name = name.lower()
        if name not in self._first:
            return []
        return [value for given, value in self._headers if given.lower() == name]


class Head(NamedTuple):
    """`version`: HTTP/1.0 or HTTP/1.1. `size`: of the body in bytes; None: not announced, or in chunks."""

    method: str
    target: str
    version: str
    fields: Fields
    size: int | None

    @property
    def keeps_open(self) -> bool:
        """Whether the sender may send another request on the connection."""
        given = self.fields.get_all('Connection')
        if not given:
            return self.version == 'HTTP/1.1'
        options = [each.strip(' \t').lower() for each in ','.join(given).split(',')]
        return CLOSE not in options and (self.version == 'HTTP/1.1' or KEEP_ALIVE in options)


def read(line: bytes, next_line: Callable[[], bytes]) -> Head | None:
    """Return the head that begins with `line`. None if the connection ends within it. Raises BadHead."""
    if not line.endswith(b'\n'):
        return None
    request = _REQUEST.fullmatch(line.decode('latin-1'))
    if request is None:
        raise BadHead(HTTPStatus.BAD_REQUEST, 'The first line of the request is not that of an HTTP request.')
    method, target, major, minor = request.groups()
    if major != '1':
        raise BadHead(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, 'The version of the request is not HTTP/1.')
    pairs: list[tuple[str, str]] = []
    while (text := next_line()) not in (b'\r\n', b'\n'):
        if not text.endswith(b'\n'):
            return None
        pair = field(text)
        if pair is None:
            raise BadHead(HTTPStatus.BAD_REQUEST, f'Header field {len(pairs) + 1} of the request is malformed.')
        if len(pairs) == MOST_FIELDS:
            raise BadHead(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                          f'The request has more than {MOST_FIELDS} header fields.')
        pairs.append(pair)
    fields, version = Fields(pairs), 'HTTP/1.0' if minor == '0' else 'HTTP/1.1'
    return Head(method, _path(target, _host(version, fields)), version, fields, _size(version, fields))


def field(line: bytes) -> tuple[str, str] | None:
    """Return the name and the value of a header field or trailer; None if the line is malformed."""
    found = _FIELD.fullmatch(line.decode('latin-1'))
    return None if found is None else (found[1], found[2].strip(' \t'))


def _host(version: str, fields: Fields) -> str | None:
    """Return the host that the client has asked for, which becomes part of links."""
    hosts = fields.get_all('Host')
    if len(hosts) > 1 or (not hosts and version != 'HTTP/1.0') or not all(map(_HOST.fullmatch, hosts)):
        raise BadHead(HTTPStatus.BAD_REQUEST, 'The request must have one header field Host, with a host and its port.')
    return hosts[0] if hosts else None


def _path(target: str, host: str | None) -> str:
    """Return the path and the query of a target, which may be a whole URL. Begins with one slash: a link that begins
    with two names a host."""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None:
        if absolute[1] != host:
            raise BadHead(HTTPStatus.BAD_REQUEST, 'The URL of the request has another host than its field Host.')
        target = absolute[2] if absolute[2].startswith('/') else f'/{absolute[2]}'
    return '/' + target.lstrip('/') if target.startswith('//') else target


def _size(version: str, fields: Fields) -> int | None:
    """Return the size of the body in bytes; None without a Content-Length. Refuses heads that do not say for certain
    where the request ends."""
    lengths, codings = fields.get_all('Content-Length'), fields.get_all('Transfer-Encoding')
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise BadHead(HTTPStatus.BAD_REQUEST, 'The Content-Length of the request is not a number of bytes.')
    if codings and (version == 'HTTP/1.0' or [each.lower() for each in codings] != ['chunked']):
        raise BadHead(HTTPStatus.BAD_REQUEST, 'The Transfer-Encoding of the request is not supported.')
    if lengths and codings:
        raise BadHead(HTTPStatus.BAD_REQUEST, 'Content-Length and Transfer-Encoding are not allowed together.')
    return int(lengths[0]) if lengths else None
