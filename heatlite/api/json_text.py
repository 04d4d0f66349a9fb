"""Writes the JSON of answers, and parses JSON strictly: UTF-8, finite numbers, no lone surrogates.

Every accepted value can be printed, stored and sent on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NoReturn

from heatlite.common import exception
from heatlite.common.i18n import _

write: Callable[[object], str] = json.JSONEncoder(check_circular=False).encode      # an answer does not contain itself


class JsonText(str):
    """The JSON of a value, as `write` makes it."""

    __slots__ = ()


def write_all(values: Iterable[object]) -> str:
    """Return the JSON of the members of a list. Those that are `JsonText` are taken as they are, others are written
    together: each one by itself takes half as long again."""
    texts: list[str] = []
    for is_written, run in groupby(values, lambda value: isinstance(value, JsonText)):
        if is_written:
            texts += [each for each in run if isinstance(each, JsonText)]       # not `str`, which would copy each
        else:
            texts.append(write(list(run))[1:-1])
    return ', '.join(texts)


def read(text: bytes) -> object:
    """Parse a value. Raises HTTPBadRequest with the parser's message, which never quotes the text."""
    try:
        written = text.decode('utf-8')
        found = _DECODER.decode(written)
        if '\\ud' in written or '\\uD' in written:
            json.dumps(found, ensure_ascii=False).encode('utf-8')
    except UnicodeDecodeError:
        raise exception.HTTPBadRequest(_('The body of the request is not valid UTF-8.')) from None
    except UnicodeEncodeError:
        raise exception.HTTPBadRequest(
            _('The body of the request has half of a surrogate pair (\\ud800 to \\udfff), which is no character.')
        ) from None
    except json.JSONDecodeError as error:
        raise exception.HTTPBadRequest(_('The body of the request is not valid JSON: %s') % error) from None
    except RecursionError:
        raise exception.HTTPBadRequest(_('The body of the request is nested too deeply.')) from None
    except ValueError as error:
        raise exception.HTTPBadRequest(
            str(error) if isinstance(error, _NumberError)
            else _('A number in the body of the request has too many digits.')) from None
    return found


class Sent(dict[str, object]):
    """A JSON object as a client has sent it, with its text."""

    text: bytes


class _NumberError(ValueError):
    pass


def _constant(name: str) -> NoReturn:
    raise _NumberError(_('The body of the request is not valid JSON: %s is no number.') % name)


def _finite(text: str) -> float:
    found = float(text)
    if found in (float('inf'), float('-inf')):
        raise _NumberError(_('A number in the body of the request is too large.'))
    return found


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=_finite)
