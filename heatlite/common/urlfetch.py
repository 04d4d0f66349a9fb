"""Documents by URL, of bounded size."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from heatlite.common import exception
from heatlite.common.i18n import _

LOG = log.getLogger(__name__)
DEFAULT_SIZE = 524288                       # bytes
DEFAULT_TIMEOUT = 60                        # seconds


class URLFetchError(exception.Error, OSError):
    pass


def get(url: str, allowed_schemes: Sequence[str] = ('http', 'https')) -> str:
    """The text behind `url`, at most `max_template_size` bytes. Raises URLFetchError."""
    scheme = urllib.parse.urlparse(url).scheme
    if scheme not in allowed_schemes:
        raise URLFetchError(_('Invalid URL scheme %s') % scheme)
    limit = cfg.CONF.get('max_template_size', DEFAULT_SIZE)
    content = _read_file(url, limit) if scheme == 'file' else _read_http(url, limit)
    if len(content) > limit:
        raise URLFetchError(_('Template exceeds maximum allowed size (%s bytes)') % limit)
    return content.decode('utf-8', 'replace')


def _read_file(url: str, limit: int) -> bytes:
    try:
        with urllib.request.urlopen(url) as source:
            return bytes(source.read(limit + 1))
    except (OSError, urllib.error.URLError) as error:
        raise URLFetchError(_('Failed to retrieve template: %s') % error)


def _read_http(url: str, limit: int) -> bytes:
    import requests
    timeout = cfg.CONF.get('template_fetch_timeout', DEFAULT_TIMEOUT)
    try:
        with requests.get(url, stream=True, timeout=timeout) as answer:
            answer.raise_for_status()
            content = bytearray()
            for piece in answer.iter_content(chunk_size=65536):
                content += piece
                if len(content) > limit:
                    break
            return bytes(content)
    except requests.exceptions.RequestException as error:
        LOG.info('Failed to retrieve template: %s', error)
        raise URLFetchError(_('Failed to retrieve template from %s') % url)
