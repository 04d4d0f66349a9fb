"""Encrypts stored secrets with keys derived from the operator's `auth_encryption_key`.

Values that were encrypted with one of `auth_decryption_keys` are read, too, so that the key can be changed while the
service runs.

The method's name is stored with each value. New values are sealed with AES-256-GCM: two microseconds each, where
Fernet, which sealed values of earlier releases and is still read, takes twenty. Random nonces of 96 bits may be used
2**32 times with one key at most, so each process derives a key of its own, and another one from time to time; the salt
of the derivation is stored in front of the value.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

METHOD = 'aes_gcm_v1'
FERNET = 'cryptography_decrypt_v1'          # the method of earlier releases, and of Heat
METHODS = (METHOD, FERNET)
KEY_LENGTH = 32                             # characters
SALT, NONCE = 16, 12                        # bytes in front of each value
USES = 2 ** 24                              # of a derived key for sealing, before the next one is derived
OPENERS = 4096                              # cached derived keys for decryption: one for each process that ever sealed

_PREFIXES = tuple(f'{method}:' for method in METHODS)


def check_keys(conf: cfg.ConfigOpts) -> None:
    """Raise Error, which names the option, for a key that has the wrong length, or if auth_encryption_key is not
    set."""
    if not conf.auth_encryption_key:
        raise exception.Error(_('The option auth_encryption_key is not set: it takes exactly 32 characters, the same '
                                'on all hosts.'))
    _check_length('auth_encryption_key', conf.auth_encryption_key)
    for key in conf.auth_decryption_keys:
        _check_length('auth_decryption_keys', key)


def _check_length(option: str, key: str) -> None:
    if len(key) != KEY_LENGTH or not key.isascii():
        raise exception.Error(_('The option %(option)s has %(found)d characters: it takes exactly %(wanted)d ASCII '
                                'characters, the same on all hosts.')
                              % {'option': option, 'found': len(key), 'wanted': KEY_LENGTH})


def encrypt(value: str | None, encryption_key: str | None = None) -> tuple[str | None, str | None]:
    """Return (method, text); (None, None) for None."""
    if value is None:
        return None, None
    return METHOD, _keyring(encryption_key).seal(value.encode())


def decrypt(method: str | None, data: str | None, encryption_key: str | None = None) -> str | None:
    """Return the clear text. Raises InvalidEncryptionKey for a value of another key, Error for an unknown method.

    Without `encryption_key` all keys of the options of this process are tried.
    """
    if method is None or data is None:
        return None
    ring = _keyring(encryption_key)
    return (ring.open(data) if method == METHOD else ring.opened(method, data)[0]).decode()


def seal(text: str, encryption_key: str | None = None) -> str:
    """Encrypt a text and prefix the method's name: no JSON begins like that, so a column may hold either."""
    return f'{METHOD}:{_keyring(encryption_key).seal(text.encode())}'


def is_sealed(text: str) -> bool:
    return text.startswith(_PREFIXES)


def parts(text: str) -> tuple[str, str]:
    """Return (method, text) of a sealed text."""
    method, _colon, secret = text.partition(':')
    return method, secret


def unseal(text: str, encryption_key: str | None = None) -> str:
    """Return the text that was given to `seal`. Raises InvalidEncryptionKey."""
    return decrypt(*parts(text), encryption_key) or ''


def digest(texts: Iterable[str], encryption_key: str) -> str:
    """Return 64 hexadecimal digits that are equal for equal texts, and reveal nothing to those without the key."""
    found = hmac.new(encryption_key.encode(), b'digest', hashlib.sha256)
    for text in texts:
        content = text.encode('utf-8', 'surrogatepass')
        found.update(b'%d:' % len(content))
        found.update(content)
    return found.hexdigest()


def encrypted_dict(data: Mapping[str, object],
                   encryption_key: str | None = None) -> dict[str, tuple[str | None, str | None]]:
    """Encrypt each value as JSON: {name: (method, text)}."""
    return {name: encrypt(json.dumps(value), encryption_key) for name, value in data.items()}


def decrypted_dict(data: Mapping[str, Sequence[str | None]], encryption_key: str | None = None) -> dict[str, object]:
    return {name: json.loads(decrypt(method, text, encryption_key) or 'null')
            for name, (method, text) in data.items()}


class Keyring:
    """Encrypts with one key of the operator, and decrypts with that and with others.

    AES-256-GCM with derived keys: a text is base64 of salt, nonce and ciphertext. A salt belongs to one key, so only
    the first value with an unknown salt is tried with each key.
    """

    def __init__(self, key: str, others: Callable[[], Sequence[str]] = tuple) -> None:
        """`others`: returns the keys that only decrypt; called when `key` does not decrypt a value."""
        from cryptography.exceptions import InvalidTag  # this library is loaded only by programs with a key
        self._refusals = InvalidTag, ValueError
        self.key = key
        self._others = others
        self._openers: dict[bytes, tuple[AESGCM, str]] = {}    # by salt: cipher, and the key that it is derived from
        self._salt = b''
        self._current: AESGCM                       # derived with `_salt`, at first use
        self._uses = USES

    def seal(self, clear: bytes) -> str:
        if self._uses >= USES:
            self._salt, self._uses = os.urandom(SALT), 0
            self._current = _derived(self.key, self._salt)
        self._uses += 1
        nonce = os.urandom(NONCE)                   # random: a forked process may continue with the same derived key
        secret = self._salt + nonce + self._current.encrypt(nonce, clear, None)
        return binascii.b2a_base64(secret, newline=False).decode('ascii')

    def open(self, text: str) -> bytes:
        """Decrypt a text that `seal` returned. Raises InvalidEncryptionKey if no key does."""
        try:
            secret = binascii.a2b_base64(text)
            salt = secret[:SALT]
            found = self._openers.get(salt)
            if found is None:
                found = self._openers[salt] = self._tried(salt, secret)
            return bytes(found[0].decrypt(secret[SALT:SALT + NONCE], secret[SALT + NONCE:], None))
        except self._refusals:
            raise exception.InvalidEncryptionKey() from None

    def opened(self, method: str, data: str) -> tuple[bytes, str]:
        """Return the clear text, and the key that decrypts it. Raises InvalidEncryptionKey; Error for an unknown
        method."""
        if method == METHOD:
            clear = self.open(data)
            return clear, self._openers[binascii.a2b_base64(data)[:SALT]][1]
        if method != FERNET:
            raise exception.Error(_('Cannot decrypt a value that was encrypted with the method "%s".') % method)
        from cryptography.fernet import InvalidToken
        for key in self._keys():
            try:
                return _fernet(key).decrypt(data.encode()), key
            except InvalidToken:
                continue
        raise exception.InvalidEncryptionKey()

    def _keys(self) -> Iterable[str]:
        yield self.key
        yield from self._others()

    def _tried(self, salt: bytes, secret: bytes) -> tuple[AESGCM, str]:
        """Return the cipher that decrypts `secret`. Raises InvalidEncryptionKey."""
        if len(self._openers) >= OPENERS:
            self._openers.clear()
        for key in self._keys():
            opener = _derived(key, salt)
            try:
                opener.decrypt(secret[SALT:SALT + NONCE], secret[SALT + NONCE:], None)
            except self._refusals:
                continue
            return opener, key
        raise exception.InvalidEncryptionKey()


def keyring(conf: cfg.ConfigOpts, *more: str) -> Keyring:
    """Return the keys of `conf`; `more`: further ones that only decrypt."""
    return Keyring(conf.auth_encryption_key, lambda: (*conf.auth_decryption_keys, *more))


def _derived(key: str, salt: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=METHOD.encode()).derive(key.encode()))


_GIVEN: dict[str, Keyring] = {}             # by key: of callers that name one
_CONFIGURED: dict[str, Keyring] = {}        # by key: of the options of this process, with its other keys
_FERNETS: dict[str, Fernet] = {}


def _keyring(encryption_key: str | None) -> Keyring:
    if encryption_key:
        key, found = encryption_key, _GIVEN.get(encryption_key)
    else:
        key = cfg.CONF.auth_encryption_key
        found = _CONFIGURED.get(key)
    return found or _new_keyring(key, is_given=bool(encryption_key))


def _new_keyring(key: str | None, is_given: bool) -> Keyring:
    if not key:
        raise exception.Error(_('The option auth_encryption_key is not set.'))
    if is_given:
        return _GIVEN.setdefault(key, Keyring(key))
    return _CONFIGURED.setdefault(key, keyring(cfg.CONF))


def _fernet(key: str) -> Fernet:
    """Read values of earlier releases, which repeated a key that was too short."""
    if key not in _FERNETS:
        from cryptography.fernet import Fernet
        full = (key * (KEY_LENGTH // len(key) + 1))[:KEY_LENGTH]
        _FERNETS[key] = Fernet(base64.b64encode(full.encode()))
    return _FERNETS[key]
