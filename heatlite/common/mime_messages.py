"""Reads and writes MIME messages with texts of users: as the library does, within bounds and in proportion to length.

The library takes the square of a header's length to read its parameters and to write it, and the lines of a message
multiplied by the depth of its parts to read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from email import _policybase as policies
from email.feedparser import FeedParser
from email.message import Message

from heatlite.common import turns
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_MIME_HEADER, MOST_MIME_PARTS

BLOCK = 1024            # characters read in one turn: with parts inside parts each line is compared with all boundaries
STEPS_OF_BLOCK = turns.EVERY
STEPS_OF_HEADER = 10
SLOW_CHARSETS = frozenset({'punycode', 'idna'})     # decoded in quadratic time; for names of hosts, not for content


class MimePolicy(policies.Compat32):
    """The library's usual policy, without lines broken in headers, and with a limit of headers that it takes apart."""

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        name = sourcelines[0].partition(':')[0]
        if name.lower().startswith('content-'):         # others are not read: a script may begin with such a line
            _check_length(name, sum(map(len, sourcelines)))
        found: tuple[str, str] = super().header_source_parse(list(sourcelines))
        return found

    def fold(self, name: str, value: str) -> str:
        if isinstance(value, str) and value.isascii() and value.splitlines() == [value]:
            turns.spend()
            return f'{name}: {value}{self.linesep}'
        turns.spend(STEPS_OF_HEADER)
        _check_length(name, len(str(value)))
        found: str = super().fold(name, value)
        return found


def _check_length(name: str, length: int) -> None:
    if length > MOST_MIME_HEADER:
        raise ValueError(_('The header "%(name)s" of the MIME message has more than %(limit)d characters') % {
            'name': name[:100], 'limit': MOST_MIME_HEADER})


POLICY = MimePolicy(max_line_length=0)


class _Parts:
    """Makes the messages of one text, at most `MOST_MIME_PARTS`."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(self, policy: policies.Policy = POLICY) -> Message:
        if self._made > MOST_MIME_PARTS:
            raise ValueError(_('The MIME message has more than %d parts') % MOST_MIME_PARTS)
        self._made += 1
        return Message(policy=policy)


def read(text: str) -> Message:
    """Return the message of a text. Raises ValueError for too many parts or a header that is too long."""
    parser = FeedParser(_Parts(), policy=POLICY)
    for start in range(0, len(text), BLOCK):
        turns.spend(STEPS_OF_BLOCK)
        parser.feed(text[start:start + BLOCK])
    return parser.close()


def written(message: Message) -> str:
    """Return the text of a message, without lines broken in headers. Raises ValueError for a header that is too long:
    one of several lines, or beyond ASCII."""
    return message.as_string(policy=POLICY)


def content(part: Message) -> str:
    """Return the decoded content of a part. Raises LookupError for an unknown charset, ValueError for a slow one."""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return str(payload)
    charset = part.get_content_charset() or 'utf-8'
    if charset in SLOW_CHARSETS:
        raise ValueError(_('The charset "%s" of a part of the MIME message is not for content') % charset)
    return payload.decode(charset, 'replace')
