"""Bodies with `Content-Encoding: gzip`: expanded within the limit of a body, refused beyond it."""

import functools
import gzip
import io

import pytest

from heatlite.api.middleware import body
from heatlite.common import exception

LIMIT = 1000
compress = functools.partial(gzip.compress, mtime=0)         # the same bytes in every process


def decompressed(content, encoding='gzip'):
    """What an action reads behind the layer that limits bodies."""
    found = []

    def action(environ, _start_response):
        found.append(body.decompressed(environ))
        assert body.decompressed(environ) is found[0]
        return [body.read(environ)]

    environ = {'CONTENT_LENGTH': str(len(content)), 'wsgi.input': io.BytesIO(content),
               **({'HTTP_CONTENT_ENCODING': encoding} if encoding else {})}
    assert body.BodyLimit(action, LIMIT)(environ, None) == [content]        # a signature is one of the compressed body
    return found[0]


@pytest.mark.parametrize('content, encoding, expected', [
    (compress(b'a=b'), 'gzip', b'a=b'),
    (compress(b''), 'GZIP', b''),
    (compress(b'x' * LIMIT), 'gzip', b'x' * LIMIT),
    (b'a=b', None, b'a=b'),
    (b'a=b', 'identity', b'a=b'),
])
def test_what_is_read(content, encoding, expected):
    assert decompressed(content, encoding) == expected


@pytest.mark.parametrize('content, encoding, error, words', [
    (compress(b'x' * (LIMIT + 1)), 'gzip', exception.RequestLimitExceeded, '(1001 bytes) exceeds'),
    (compress(b'x' * 700_000), 'gzip', exception.RequestLimitExceeded, '(1001 bytes) exceeds'),
    (b'x' * (LIMIT + 1), 'gzip', exception.RequestLimitExceeded, '(1001 bytes) exceeds'),
    (b'a=b', 'gzip', exception.HTTPBadRequest, 'not valid gzip'),
    (b'', 'gzip', exception.HTTPBadRequest, 'not valid gzip'),
    (compress(b'a=b')[:-1], 'gzip', exception.HTTPBadRequest, 'not valid gzip'),
    (compress(b'a=b') + compress(b'c'), 'gzip', exception.HTTPBadRequest, 'not valid gzip'),
    (b'a=b', 'br', exception.HTTPBadRequest, 'the Content-Encoding br are not read'),
    (b'a=b', 'gzip, gzip', exception.HTTPBadRequest, 'are not read'),
])
def test_refusals(content, encoding, error, words):
    with pytest.raises(error) as refused:
        decompressed(content, encoding)
    assert words in str(refused.value)
