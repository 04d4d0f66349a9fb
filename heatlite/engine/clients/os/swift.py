"""Object storage (Swift): objects, and URLs that need no login."""

from __future__ import annotations

import base64
import hmac
import itertools
import json
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import quote, urlsplit

from heatlite.common import document_size, exception, json_values, limits, password_gen
from heatlite.common import runtime as runtimes
from heatlite.common.i18n import _
from heatlite.engine.clients.os import collection, http, service

if TYPE_CHECKING:
    from requests import Response

CLIENT_NAME = 'swift'
IN_PROGRESS = 'in progress'                 # the content of an object for signals before the first one
NAMES_AT_ONCE = 1000                        # objects in one answer; services allow 10 000, or what their operator says
MOST_VERSIONS = 1000                        # of one object that are read at once, and that are deleted with it
MAX_EPOCH = 2 ** 31 - 1                     # the end of time of clients that count seconds in 32 bits
KEY_HEADER = 'x-account-meta-temp-url-key'
TEMP_URL_PATH = re.compile(r'/v1/[^/]+/[^/]+/[^/]+')
ONE_DAY = 86400
TURNS = 64                                  # accounts for which a key is made at once

_turns = [threading.Lock() for _number in range(TURNS)]


class ListedObject(TypedDict):
    """What is used of an object in the list of its container."""

    name: str
    bytes: int


@dataclass(frozen=True)
class StoredSignal:
    """What was put once to a URL for signals."""

    name: str                   # of the object that has it: that of the URL, or a version of it
    put_at: str                 # seconds since 1970 by the clock of the service; no two signals of a URL have the same
    content: bytes

    def details(self) -> object:
        """Return the JSON; an empty map if nothing was sent. Raises ValueError, also for what could not be stored."""
        if not self.content.strip():
            return {}
        text = self.content.decode(json.detect_encoding(self.content))
        try:
            return document_size.check_text(json_values.loads(text))
        except (exception.HTTPBadRequest, RecursionError) as error:
            raise ValueError(str(error)) from None


class ObjectClient(collection.Client):
    """The calls of Swift's library. Headers come back with lower-case names."""

    @property
    def url(self) -> str:
        """Of the account."""
        return str(self.http.get_endpoint()).rstrip('/')

    @staticmethod
    def _path(*parts: str) -> str:
        return '/' + '/'.join(quote(part, safe='') for part in parts) if parts else ''

    def _headers(self, answer: Response) -> dict[str, str]:
        return {name.lower(): http.received_header(value) for name, value in answer.headers.items()}

    def head_account(self) -> dict[str, str]:
        return self._headers(self.http.head(self.url))

    def post_account(self, headers: Mapping[str, str]) -> None:
        self.http.post(self.url, headers=http.sent_headers(headers))

    def get_account(self, **params: object) -> tuple[dict[str, str], list[dict[str, object]]]:
        answer = self.http.get(self.url, params={'format': 'json', **params})
        return self._headers(answer), answer.json() if answer.content else []

    def put_container(self, container: str, headers: Mapping[str, str] | None = None) -> None:
        self.http.put(self._path(container), headers=http.sent_headers(headers or {}))

    def post_container(self, container: str, headers: Mapping[str, str]) -> None:
        self.http.post(self._path(container), headers=http.sent_headers(headers))

    def head_container(self, container: str) -> dict[str, str]:
        return self._headers(self.http.head(self._path(container)))

    def get_container(self, container: str, **params: object) -> tuple[dict[str, str], list[ListedObject]]:
        params = {name: value for name, value in params.items() if value is not None and name != 'full_listing'}
        answer = self.http.get(self._path(container), params={'format': 'json', **params})
        return self._headers(answer), answer.json() if answer.content else []

    def delete_container(self, container: str) -> None:
        self.http.delete(self._path(container))

    def put_object(self, container: str, name: str, contents: object = b'', headers: Mapping[str, str] | None = None,
                   content_type: str | None = None) -> str | None:
        data = contents.encode() if isinstance(contents, str) else contents
        headers = {'Content-Type': content_type or 'application/octet-stream', **(headers or {})}
        answer = self.http.put(self._path(container, name), data=data, headers=http.sent_headers(headers))
        etag: str | None = answer.headers.get('etag')
        return etag

    def get_object(self, container: str, name: str) -> tuple[dict[str, str], bytes]:
        answer = self.http.get(self._path(container, name), headers={'Accept': '*/*'})
        return self._headers(answer), answer.content

    def head_object(self, container: str, name: str) -> dict[str, str]:
        return self._headers(self.http.head(self._path(container, name)))

    def post_object(self, container: str, name: str, headers: Mapping[str, str]) -> None:
        self.http.post(self._path(container, name), headers=http.sent_headers(headers))

    def delete_object(self, container: str, name: str) -> None:
        self.http.delete(self._path(container, name))


class SwiftClientPlugin(service.ServicePlugin[ObjectClient]):
    option_group = CLIENT_NAME
    service_types = [OBJECT_STORE] = ['object-store']
    client_class = ObjectClient

    # --- URLs that need no login --------------------------------------------------------------------------

    @staticmethod
    def is_valid_temp_url_path(path: str) -> bool:
        """`/v1/account/container/object`; the object's name may have slashes."""
        return bool(TEMP_URL_PATH.match(path)) and all(path.split('/', 4)[1:])

    def _key(self) -> str:
        """Return the account's key for such URLs; made when there is none: by one thread of this process, as a second
        key would replace the first, with which a URL may be signed by then. What the account has after that counts,
        which another process may have made. If two processes make one at once, a URL may have the key that is replaced:
        Swift refuses it."""
        client = self.client()
        key = client.head_account().get(KEY_HEADER)
        if key:
            return str(key)
        with _turns[hash(client.url) % len(_turns)]:
            key = client.head_account().get(KEY_HEADER)
            if not key:
                made = password_gen.generate_openstack_password()
                client.post_account({KEY_HEADER: made})
                key = client.head_account().get(KEY_HEADER) or made
        return str(key)

    def get_temp_url(self, container_name: str, obj_name: str, timeout: float | None = None,
                     method: str = 'PUT') -> str:
        """`timeout`: seconds; None: for ever, as far as clients can count."""
        key = self._key()
        endpoint = urlsplit(self.client().url)
        path = f'{endpoint.path}/{quote(container_name)}/{quote(obj_name)}'
        expires = MAX_EPOCH if timeout is None else int(_seconds(runtimes.current().now()) + timeout)
        text = f'{method}\n{expires}\n{endpoint.path}/{container_name}/{obj_name}'
        digest = self._digest()
        signature = hmac.new(key.encode(), text.encode(), digest).hexdigest()
        return f'{endpoint.scheme}://{endpoint.netloc}{path}?temp_url_sig={signature}&temp_url_expires={expires}'

    def _digest(self) -> str:
        """Return the best hash the cluster takes: sha1 is refused by new ones, old ones know nothing else."""
        try:
            endpoint = urlsplit(self.client().url)
            found = self.client().http.get(f'{endpoint.scheme}://{endpoint.netloc}/info').json()
            allowed = found.get('tempurl', {}).get('allowed_digests', ['sha1'])
        except Exception:                       # an old cluster, or one that does not tell
            return 'sha1'
        return next((name for name in ('sha256', 'sha512', 'sha1') if name in allowed), 'sha1')

    def get_signal_url(self, container_name: str, obj_name: str, timeout: float | None = None) -> str:
        """Return a URL to PUT signals to; the object is there from the start, so that polling finds it."""
        client = self.client()
        client.put_container(container_name, {'x-versions-location': container_name})
        url = self.get_temp_url(container_name, obj_name, timeout)
        client.put_object(container_name, obj_name, IN_PROGRESS)
        return url

    def signals(self, container: str, name: str, with_versions: bool = True) -> Iterator[StoredSignal]:
        """Yield what was put to the URL of an object, oldest first: with `with_versions` the former contents, which the
        service keeps as versions of the object, at most MOST_VERSIONS; then its content. Nothing without an object.

        The object is read before its versions are listed: what replaces it meanwhile comes next time. Raises
        RequestLimitExceeded if there are more than MOST_METADATA bytes.
        """
        newest = self._stored_signal(container, name)
        if newest is None:
            return
        versions = self._versions(container, name) if with_versions else ()
        older = (self._stored_signal(container, version, put_at) for version, put_at in versions
                 if put_at != newest.put_at)
        size = 0
        for found in itertools.chain(older, [newest]):
            if found is None or found.content == IN_PROGRESS.encode():
                continue
            size += len(found.content)
            if size > limits.MOST_METADATA:
                raise exception.RequestLimitExceeded(
                    _('The signals in object %(name)s have more than the %(limit)d bytes that are read.')
                    % {'name': name, 'limit': limits.MOST_METADATA})
            yield found

    def _stored_signal(self, container: str, name: str, put_at: str | None = None) -> StoredSignal | None:
        """`put_at`: of a version, which has a time of its own. None if there is no such object."""
        try:
            headers, content = self.client().get_object(container, name)
        except Exception as error:
            self.ignore_not_found(error)
            return None
        # Without this header, the service names versions by the other one.
        stamp = headers.get('x-timestamp') or str(_seconds(self.parse_last_modified(headers['last-modified'])))
        return StoredSignal(name, put_at or _moment(stamp), content)

    def _versions(self, container: str, name: str) -> list[tuple[str, str]]:
        """(name, when it was put as the content of the object) of the MOST_VERSIONS oldest versions, oldest first."""
        prefix = f'{len(name.encode()):03x}{name}/'
        _headers, entries = self.client().get_container(container, prefix=prefix, limit=MOST_VERSIONS)
        return [(entry['name'], _moment(entry['name'].removeprefix(prefix))) for entry in entries]

    def delete_version(self, container: str, name: str) -> None:
        """Delete one version of an object, by its own name. Gone already is fine."""
        with self.ignore_not_found:
            self.client().delete_object(container, name)

    def delete_versions(self, container: str, name: str) -> None:
        """Delete an object with its older versions, of which each deletion brings the next one back, and then the
        container, if it is empty. What is not there is fine; after MOST_VERSIONS the rest is left."""
        client = self.client()
        with self.ignore_not_found:
            for _version in range(MOST_VERSIONS):
                client.delete_object(container, name)
        with self.ignore_conflict_and_not_found:
            client.delete_container(container)

    # --- reading ------------------------------------------------------------------------------------------

    def parse_last_modified(self, lm: str) -> datetime:
        """Return a Last-Modified header as UTC without zone."""
        return parsedate_to_datetime(lm).astimezone(UTC).replace(tzinfo=None)

    def get_files_from_container(self, files_container: str, files_to_skip: Collection[str] | None = None
                                 ) -> dict[str, str]:
        """Name to content of every object but those of `files_to_skip`, of any number and size."""
        return {entry['name']: self.text(files_container, entry['name']) for entry in self.listed(files_container)
                if entry['name'] not in (files_to_skip or ())}

    def listed(self, container: str) -> Iterator[ListedObject]:
        """Yield the objects of a container in the order of their names, by requests for NAMES_AT_ONCE of them."""
        last: str | None = None
        for _page in range(collection.MOST_PAGES):
            page = self.client().get_container(container, marker=last, limit=NAMES_AT_ONCE)[1]
            yield from page
            if len(page) < NAMES_AT_ONCE:
                return
            last = page[-1]['name']

    def text(self, container: str, name: str) -> str:
        """Return the content of an object. What is not UTF-8 comes in base64, as clients send such a file."""
        content = self.client().get_object(container, name)[1]
        try:
            return content.decode()
        except UnicodeDecodeError:
            return base64.encodebytes(content).decode('ascii')


def _moment(timestamp: str) -> str:
    """Return the time of an object in one form: services write it with different digits in headers and in names."""
    seconds, _point, fraction = timestamp.partition('.')
    return f'{int(seconds):010d}.{fraction[:5]:0<5}'


def _seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()
