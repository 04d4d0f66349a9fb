"""Serves the built files of the console from memory, with headers under which nothing else can run in the page."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

import webob

KINDS: Mapping[str, str] = {
    '.css': 'text/css; charset=utf-8', '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
    '.svg': 'image/svg+xml', '.txt': 'text/plain; charset=utf-8'}
INDEX = 'index.html'
FOR_EVER = 'public, max-age=31536000, immutable'
EACH_TIME = 'no-cache'                      # kept, and compared by its ETag each time
_HASHED = re.compile(r'-[A-Za-z0-9_-]{8}\.[a-z]+\Z')

# Scripts, styles and requests of this host alone; nothing inline, no frames, no forms that leave the page.
HEADERS: Mapping[str, str] = {
    'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'DENY', 'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Resource-Policy': 'same-origin'}


@dataclass(frozen=True)
class File:
    """One file. Names with a hash of the content never change their content."""

    name: str
    body: bytes

    @property
    def kind(self) -> str:
        return KINDS[self.name[self.name.rindex('.'):]]

    @property
    def caching(self) -> str:
        return FOR_EVER if _HASHED.search(self.name) else EACH_TIME

    @cached_property
    def tag(self) -> str:
        return hashlib.sha256(self.body).hexdigest()[:32]

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.body, mtime=0)


def built() -> dict[str, File]:
    """Return the files that came with this package, by name; no other file can be asked for."""
    folder = resources.files('heatlite.api.console').joinpath('static')
    return {each.name: File(each.name, each.read_bytes()) for each in folder.iterdir()
            if each.is_file() and each.name[each.name.rfind('.'):] in KINDS}


def answer(request: webob.Request, file: File) -> webob.Response:
    """200 with the file, compressed if the client can read that, or 304."""
    made = webob.Response(status=200, headers={**HEADERS, 'Cache-Control': file.caching, 'Vary': 'Accept-Encoding'})
    made.headers['Content-Type'] = file.kind
    made.etag = file.tag
    if file.tag in request.if_none_match:
        made.status_int = 304
    elif 'gzip' in request.headers.get('Accept-Encoding', ''):
        made.body = file.compressed
        made.headers['Content-Encoding'] = 'gzip'
    else:
        made.body = file.body
    return made


def document(value: object, status: int = 200, **headers: str) -> webob.Response:
    """JSON for the console, never stored by anybody."""
    made = webob.Response(status=status, body=json.dumps(value).encode('ascii'),
                          headers={**HEADERS, 'Cache-Control': 'no-store', **headers})
    made.headers['Content-Type'] = 'application/json'
    return made
