"""Encrypts stored secrets with keys derived from the operator's `auth_encryption_key`.

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
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _

METHOD = 'aes_gcm_v1'
FERNET = 'cryptography_decrypt_v1'          # the method of earlier releases, and of Heat
METHODS = (METHOD, FERNET)
KEY_LENGTH = 32                             # characters
SALT, NONCE = 16, 12                        # bytes in front of each value
USES = 2 ** 24                              # of a derived key for sealing, before the next one is derived
OPENERS = 4096                              # cached derived keys for decryption: one for each process that ever sealed

_PREFIXES = tuple(f'{method}:' for method in METHODS)


def check_key(key: str | None) -> None:
    """Raises Error, which names the option, for a key that is not set or has the wrong length."""
    if not key:
        raise exception.Error(_('The option auth_encryption_key is not set: it takes exactly 32 characters, the same '
                                'on all hosts.'))
    if len(key) != KEY_LENGTH or not key.isascii():
        raise exception.Error(_('The option auth_encryption_key has %(found)d characters: it takes exactly %(wanted)d '
                                'ASCII characters, the same on all hosts.')
                              % {'found': len(key), 'wanted': KEY_LENGTH})


def encrypt(value: str | None, encryption_key: str | None = None) -> tuple[str | None, str | None]:
    """Returns (method, text); (None, None) for None."""
    if value is None:
        return None, None
    return METHOD, _sealer(encryption_key).seal(value.encode())


def decrypt(method: str | None, data: str | None, encryption_key: str | None = None) -> str | None:
    """Returns the clear text. Raises InvalidEncryptionKey for a value of another key, Error for an unknown method."""
    if method is None or data is None:
        return None
    if method == METHOD:
        return _sealer(encryption_key).open(data).decode()
    if method != FERNET:
        raise exception.Error(_('Cannot decrypt a value that was encrypted with the method "%s".') % method)
    from cryptography.fernet import InvalidToken
    try:
        return str(_fernet(encryption_key).decrypt(data.encode()).decode())
    except InvalidToken:
        raise exception.InvalidEncryptionKey()


def seal(text: str, encryption_key: str | None = None) -> str:
    """Encrypts a text and prefixes the method's name: no JSON begins like that, so a column may hold either."""
    return f'{METHOD}:{_sealer(encryption_key).seal(text.encode())}'


def is_sealed(text: str) -> bool:
    return text.startswith(_PREFIXES)


def unseal(text: str, encryption_key: str | None = None) -> str:
    """Returns the text that was given to `seal`. Raises InvalidEncryptionKey."""
    method, _colon, secret = text.partition(':')
    return decrypt(method, secret, encryption_key) or ''


def digest(texts: Iterable[str], encryption_key: str) -> str:
    """Returns 64 hexadecimal digits that are equal for equal texts, and reveal nothing to those without the key."""
    found = hmac.new(encryption_key.encode(), b'digest', hashlib.sha256)
    for text in texts:
        content = text.encode('utf-8', 'surrogatepass')
        found.update(b'%d:' % len(content))
        found.update(content)
    return found.hexdigest()


def encrypted_dict(data: Mapping[str, Any], encryption_key: str | None = None) -> dict[str, Any]:
    """Encrypts each value as JSON: {name: (method, text)}."""
    return {name: encrypt(json.dumps(value), encryption_key) for name, value in data.items()}


def decrypted_dict(data: Mapping[str, Any], encryption_key: str | None = None) -> dict[str, Any]:
    return {name: json.loads(decrypt(method, text, encryption_key) or 'null')
            for name, (method, text) in data.items()}


class _Sealer:
    """AES-256-GCM with keys derived from one key of the operator. A text is base64 of salt, nonce and ciphertext."""

    def __init__(self, key: str) -> None:
        from cryptography.exceptions import InvalidTag  # this library is loaded only by programs with a key
        self._refusals = InvalidTag, ValueError
        self._key = key.encode()
        self._openers: dict[bytes, Any] = {}
        self._salt = b''
        self._current: Any = None
        self._uses = USES

    def seal(self, clear: bytes) -> str:
        if self._uses >= USES:
            self._salt, self._uses = os.urandom(SALT), 0
            self._current = self._derived(self._salt)
        self._uses += 1
        nonce = os.urandom(NONCE)                   # random: a forked process may continue with the same derived key
        secret = self._salt + nonce + self._current.encrypt(nonce, clear, None)
        return binascii.b2a_base64(secret, newline=False).decode('ascii')

    def open(self, text: str) -> bytes:
        """Decrypts a text. Raises InvalidEncryptionKey."""
        try:
            secret = binascii.a2b_base64(text)
            salt = secret[:SALT]
            opener = self._openers.get(salt)
            if opener is None:
                opener = self._known(salt)
            return bytes(opener.decrypt(secret[SALT:SALT + NONCE], secret[SALT + NONCE:], None))
        except self._refusals:
            raise exception.InvalidEncryptionKey() from None

    def _known(self, salt: bytes) -> Any:
        if len(self._openers) >= OPENERS:
            self._openers.clear()
        self._openers[salt] = self._derived(salt)
        return self._openers[salt]

    def _derived(self, salt: bytes) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=METHOD.encode()).derive(self._key))


_SEALERS: dict[str, _Sealer] = {}           # by key; an installation has one key, two during a rotation
_FERNETS: dict[str, Any] = {}


def _key(encryption_key: str | None) -> str:
    key = encryption_key or cfg.CONF.auth_encryption_key
    if not key:
        raise exception.Error(_('The option auth_encryption_key is not set.'))
    return str(key)


def _sealer(encryption_key: str | None) -> _Sealer:
    key = _key(encryption_key)
    found = _SEALERS.get(key)
    if found is None:
        found = _SEALERS[key] = _Sealer(key)
    return found


def _fernet(encryption_key: str | None) -> Any:
    """Reads values of earlier releases, which repeated a key that was too short."""
    key = _key(encryption_key)
    if key not in _FERNETS:
        from cryptography.fernet import Fernet
        full = (key * (KEY_LENGTH // len(key) + 1))[:KEY_LENGTH]
        _FERNETS[key] = Fernet(base64.b64encode(full.encode()))
    return _FERNETS[key]
