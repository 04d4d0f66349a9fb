"""MIME messages of users: the same as the library's for ordinary ones, with a cost in proportion to their length."""

from __future__ import annotations

import email
import email.policy
from email import errors
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import mime_messages, turns
from heatlite.common.limits import MOST_MIME_HEADER, MOST_MIME_PARTS
from tests.steps import is_linear

HEADER_TEXTS = st.text(st.sampled_from('a \t\r\n\v;,:"=\x85é') | st.characters(codec='ascii'), max_size=80)


def nested(depth: int, lines: int = 1) -> str:
    text = 'Content-Type: text/plain; charset=us-ascii\n\n' + 'x\n' * lines
    for level in range(depth):
        text = f'Content-Type: multipart/mixed; boundary="b{level}"\n\n--b{level}\n{text}\n--b{level}--\n'
    return text


ORDINARY = ['', 'echo hi', 'a: b\n\nc', nested(3), nested(3).replace('\n', '\r\n'), 'From me\nA: b\n\n--x\n',
            'Content-Type: multipart/mixed; boundary=b\nX-Far: ' + 'word ' * 100 + '\n folded\n\nbefore\n--b\n'
            'Content-Type: text/x-shellscript\nContent-Disposition: attachment;\n filename="é.sh"\n\n#!/bin/sh\n'
            'From here\n--b\n\nsecond\n--b--\nafter']


@pytest.mark.parametrize('text', ORDINARY)
def test_messages_are_read_and_written_as_by_the_library(text):
    expected = email.message_from_string(text)
    found = mime_messages.read(text)
    assert found.items() == expected.items()
    assert mime_messages.written(found) == expected.as_string()


def test_a_message_of_parts_is_written_as_by_the_library():
    whole = MIMEMultipart(boundary='===')
    for name in ('a b c.sh', 'größe.txt', 'x' * 255):
        part = MIMEText('echo ' + name, 'x-shellscript')
        part.add_header('Content-Disposition', 'attachment', filename=name)
        whole.attach(part)
    assert mime_messages.written(whole) == whole.as_string()


@given(HEADER_TEXTS)
def test_headers_are_written_as_by_the_library(value):
    try:
        expected = email.policy.compat32.clone(max_line_length=0).fold('X-Name', value)
    except errors.HeaderParseError:
        with pytest.raises(errors.HeaderParseError):
            mime_messages.POLICY.fold('X-Name', value)
    else:
        assert mime_messages.POLICY.fold('X-Name', value) == expected


@pytest.mark.parametrize('sign', ['f x', 'é ', ';'])
def test_long_headers_cost_their_length(sign):
    def write(size: int) -> None:
        message = MIMEText('', 'plain')
        for _header in range(size):
            message['X-Name'] = (sign * 1000)[:MOST_MIME_HEADER]
        message['X-Long'] = 'f x' * 100 * size
        mime_messages.written(message)
    assert is_linear(write, 20)


@pytest.mark.parametrize('text, why', [
    ('Content-Type: multipart/mixed;' + ';' * 5000 + ' boundary=b\n\n--b\n', 'header "Content-Type"'),
    ('Content-Type: multipart/mixed; boundary=b\n\n' + '--b\n\nx\n' * (MOST_MIME_PARTS + 1), '100 parts'),
    (nested(MOST_MIME_PARTS + 1), '100 parts')])
def test_what_the_library_reads_in_quadratic_time_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        mime_messages.read(text)


@pytest.mark.parametrize('value', ['a\n' + ' b\n' * 5000, 'é' * 5000])
def test_what_the_library_writes_in_quadratic_time_is_refused(value):
    with pytest.raises(ValueError, match='header "X-Name"'):
        mime_messages.written(mime_messages.read(f'X-Name: {value}\n\nbody'))


def test_reading_gives_turns(monkeypatch):
    taken = []
    monkeypatch.setattr(turns, '_turn', lambda *owners: taken.append(owners))
    mime_messages.read(nested(50, lines=50_000))
    assert len(taken) > 50
