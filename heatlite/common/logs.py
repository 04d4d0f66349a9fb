"""Formats log lines: one event is one line, whatever its values contain, with the ids of its request and its subject.

Log lines quote texts of users, clouds and plug-ins: names, reasons, errors. Line ends, other control characters,
separators that terminals interpret and lone surrogates are written as escapes, so no text can add a line that looks
like one of ours, and none can make a handler fail. Lines of a traceback begin with white space, a log line never does.
"""

from __future__ import annotations

import copy
import json
import logging
import re
import traceback
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from oslo_context import context as contexts
from oslo_log import formatters

from heatlite.common.context import RequestContext, Subject, masked, subject
from heatlite.common.expiring_cache import ExpiringCache

if TYPE_CHECKING:
    from types import TracebackType

    from oslo_config.cfg import ConfigOpts

ExcInfo: TypeAlias = 'tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]'

LONGEST = 8192                  # characters of one message, and of one line of a traceback
MASKED = 4 * LONGEST            # characters of a message that are searched for hidden values; the rest is not shown
LONGEST_TRACEBACK = 200         # lines; the middle is left out
LONGEST_WORD = 255              # characters of an id or a name of the context
INDENT = '    '
CUT = ' ... (cut, %d characters in all)'
CUT_LINES = '... (%d lines left out)'
# Control characters (C0, DEL, C1), line and paragraph separators, changes of writing direction, lone surrogates.
_ODD = re.compile('[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]')
# Loggers of libraries that write a line at each attempt while the broker is down.
RECONNECTING = tuple(f'{package}._drivers.{module}' for package in ('oslo_messaging', 'oslo.messaging')
                     for module in ('impl_rabbit', 'amqpdriver', 'amqp', 'common'))
# Write some lines for each request whose token they cannot validate.
VALIDATING = ('keystonemiddleware.auth_token', 'keystoneauth.identity.generic.base', 'keystoneauth.session')
_SHORT = {'\n': '\\n', '\r': '\\r', '\t': '\\t', '\x1b': '\\x1b'}
FIELDS = ('request_id', 'global_request_id', 'project_id', *Subject().logging_values())     # of a line as JSON


def escaped(text: str) -> str:
    """`text` on one line: unprintable characters are written as Python escapes them (\\n, \\x1b)."""
    return text if text.isprintable() else _ODD.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    number = ord(character)
    return _SHORT.get(character) or (f'\\x{number:02x}' if number < 0x80 else
                                     f'\\u{number:04x}' if number < 0x10000 else f'\\U{number:08x}')


def bounded(text: str, length: int = 0) -> str:
    """Return the escaped text: at most LONGEST characters, with a note if it was truncated. `length`: of the text of
    which `text` is the beginning, if it is longer."""
    found = escaped(text if len(text) <= LONGEST else text[:LONGEST])
    if len(found) <= LONGEST and len(text) <= LONGEST:
        return found
    return found[:LONGEST] + CUT % max(length, len(text))


def message(record: logging.LogRecord) -> str:
    """Return the message of a record on one bounded line, without hidden values of the stacks that its thread works
    for; never raises."""
    try:
        text = record.getMessage()
    except Exception as error:                  # the arguments do not match the format: a defect of the caller
        text = f'{record.msg!r} with {record.args!r} ({type(error).__name__}: {error})'
    return bounded(masked(text[:MASKED]), len(text))


def indented(text: str) -> str:
    """Indent a text of several lines - a traceback - as continuation of a log line."""
    lines = list(_lines(text))
    if len(lines) > LONGEST_TRACEBACK:
        half = LONGEST_TRACEBACK // 2
        lines[half:-half] = [CUT_LINES % (len(lines) - LONGEST_TRACEBACK)]
    return '\n'.join(INDENT + line for line in lines)


def _lines(text: str) -> Iterator[str]:
    for line in text.rstrip('\n').split('\n'):
        yield bounded(line)


class LineFormatter(logging.Formatter):
    """Formats a record by oslo.log's options (`logging_context_format_string` and the like), on one line."""

    def __init__(self, conf: ConfigOpts, project: str, fields: Iterable[str] = ()) -> None:
        """`fields`: values that the handler reads from the record itself, beside its line."""
        super().__init__(datefmt=conf.log_date_format)
        self._fields = tuple(fields)
        self._of_user: str = conf.logging_user_identity_format
        self._fixed = {'project': project, 'version': 'unknown', 'instance': '', 'color': '', 'resource': ''}
        self._with_context: str = conf.logging_context_format_string
        self._without: str = conf.logging_default_format_string
        self._of_debug = f' {conf.logging_debug_format_suffix}' if conf.logging_debug_format_suffix else ''

    def format(self, record: logging.LogRecord) -> str:
        context = _context_of(record)
        known = context.get_logging_values() if isinstance(context, contexts.RequestContext) else context or {}
        about = _subject_of(context)
        values = _Values(self._fixed)
        values.update(record.__dict__)
        values.update(known)
        values.update(about)
        values['message'] = text = message(record)
        stack_id = about.get('stack_id')
        if stack_id and stack_id not in text:
            values['instance'] = f"[stack {values['stack_id']}] "
        values['asctime'] = self.formatTime(record, self.datefmt)
        for name in self._fields:
            if values.get(name):
                record.__dict__[name] = values[name]
        form = self._with_context if values.get('request_id') else self._without
        if record.levelno == logging.DEBUG:
            form += self._of_debug
        if '%(error_summary)' in form:
            values['error_summary'] = _summary(record)
        if '%(isotime)' in form:
            values['isotime'] = _isotime(record)
        if '%(user_identity)' in form:
            values['user_identity'] = self._of_user % _Values(known)
        try:
            line = form % values
        except (TypeError, ValueError) as error:        # the operator's format does not match
            line = f"{values['message']} (the log format is wrong: {error})"
        if not line.isprintable():              # by the context or the format: colours are the only control codes
            line = '\x1b'.join(map(escaped, line.split('\x1b'))) if values.get('color') else escaped(line)
        if record.exc_info:
            line = f'{line}\n{self.formatException(record.exc_info)}'
        if record.stack_info:
            line = f'{line}\n{indented(record.stack_info)}'
        return line

    def formatException(self, ei: ExcInfo) -> str:
        return traceback_of(ei)


def _masked_ends(text: str) -> str:
    """Return the text without hidden values; of one that is longer than twice MASKED, the beginning and the end."""
    if len(text) <= 2 * MASKED:
        return masked(text)
    half = MASKED // 2              # what is cut through at the ends of the searched parts is not shown
    return f'{masked(text[:MASKED])[:-half]}{CUT % len(text)}\n{masked(text[-MASKED:])[half:]}'


def traceback_of(exc_info: ExcInfo) -> str:
    """Format a traceback, indented and bounded; never raises."""
    try:
        return indented(_masked_ends(''.join(traceback.format_exception(*exc_info))))
    except Exception as error:                  # an exception whose text cannot be made
        return indented(f'{exc_info[0]} that cannot be printed: {type(error).__name__}')


class _Values(dict[str, object]):
    """Values for a format. Unknown or empty ones are written as "-"; ids and names of the context are one word each."""

    def __getitem__(self, key: str) -> object:
        found = self.get(key)
        if not isinstance(found, str):
            return '-' if found is None else found
        if not found:
            return '' if key in _MAY_BE_EMPTY else '-'
        if key not in _OF_CONTEXT or (len(found) <= LONGEST_WORD and (found.isalnum() or _WORD.fullmatch(found))):
            return found
        return _NO_WORD.sub(_escape, found[:LONGEST_WORD])


_MAY_BE_EMPTY = frozenset({'instance', 'color', 'resource', 'message'})
_OF_CONTEXT = frozenset({*RequestContext(overwrite=False).get_logging_values(), *Subject().logging_values()})
_WORD = re.compile(r'[\w.:@/-]+')
_NO_WORD = re.compile(r'[^\w.:@/-]')


def _context_of(record: logging.LogRecord) -> Any:
    return record.__dict__['context'] if 'context' in record.__dict__ else contexts.get_current()


def _subject_of(context: object) -> dict[str, str | None]:
    """Return the ids of the subject of this thread; none for a line about the context of another one."""
    return subject().logging_values() if context is contexts.get_current() else {}


def fields(record: logging.LogRecord) -> dict[str, str]:
    """Return the FIELDS of a line that are known, bounded."""
    context = _context_of(record)
    known = context.get_logging_values() if isinstance(context, contexts.RequestContext) else context or {}
    found = {**known, **_subject_of(context)}
    return {name: str(found[name])[:LONGEST_WORD] for name in FIELDS if found.get(name)}


def _summary(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ''
    text = f'{record.exc_info[0].__name__}: {record.exc_info[1]}'
    return bounded(masked(text[:MASKED]), len(text))


def _isotime(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created).astimezone().isoformat()


class JsonFormatter(formatters.JSONFormatter):
    """oslo.log's formatter, with bounded values, and with FIELDS beside its own where they are known.

    JSON escapes line ends.
    """

    def format(self, record: logging.LogRecord) -> str:
        bounded_record = copy.copy(record)
        bounded_record.msg, bounded_record.args = message(record), ()
        text: str = super().format(bounded_record)
        if '"error_summary": ""' not in text:       # the library's own, of the error that is being handled
            whole: dict[str, object] = json.loads(text)
            summary = str(whole.get('error_summary') or '')
            whole['error_summary'] = bounded(masked(summary[:MASKED]), len(summary))
            text = json.dumps(whole)
        found = fields(record)
        return f'{text[:-1]}, {json.dumps(found)[1:]}' if found else text

    def formatException(self, ei: ExcInfo, *, strip_newlines: bool = True) -> str:
        return traceback_of(ei)


class OneLineFormatter(logging.Formatter):
    """Makes any other formatter - one configured by `log_config_append` - write one line for one event."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> Any:
        plain = copy.copy(record)
        plain.msg, plain.args = message(record), ()
        plain.exc_info = plain.exc_text = plain.stack_info = None
        made: object = self.inner.format(plain)
        if not isinstance(made, str):           # fluentd takes a mapping
            return made
        line = escaped(made)
        if record.exc_info:
            line = f'{line}\n{traceback_of(record.exc_info)}'
        return line

    def formatException(self, ei: ExcInfo) -> str:
        return traceback_of(ei)


class Seldom(logging.Filter):
    """Passes one record of each place per minute: libraries that retry, or fail at each request, log as often."""

    INTERVAL = 60.0             # seconds
    MOST_PLACES = 1000          # remembered

    def __init__(self) -> None:
        super().__init__()
        self._passed: ExpiringCache[bool] = ExpiringCache(self.MOST_PLACES, self.INTERVAL)

    def filter(self, record: logging.LogRecord) -> bool:
        return self._passed.add((record.pathname, record.lineno))


_SELDOM = Seldom()


def install(conf: ConfigOpts, project: str) -> None:
    """Give every handler of this process one of these formatters. Call it after oslo.log has made the handlers."""
    for name in (*RECONNECTING, *VALIDATING):
        logging.getLogger(name).addFilter(_SELDOM)
    named = [found for found in logging.root.manager.loggerDict.values() if isinstance(found, logging.Logger)]
    for handler in {handler for logger in (logging.root, *named) for handler in logger.handlers}:
        formatter = handler.formatter
        if isinstance(formatter, (LineFormatter, JsonFormatter, OneLineFormatter)):
            continue
        if isinstance(formatter, formatters.JSONFormatter):
            handler.setFormatter(JsonFormatter(datefmt=formatter.datefmt))
        elif formatter is None or isinstance(formatter, formatters.ContextFormatter):
            of_journal = getattr(handler, 'custom_fields', ())
            handler.setFormatter(LineFormatter(conf, project, of_journal))
        else:
            handler.setFormatter(OneLineFormatter(formatter))
