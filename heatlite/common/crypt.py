"""Secrets at rest: Fernet with the operator's `auth_encryption_key`. The method's name is stored with each value."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.i18n import _

METHOD = 'cryptography_decrypt_v1'
KEY_LENGTH = 32                             # characters; shorter keys of old installations are doubled and cut


def encrypt(value: str | None, encryption_key: str | None = None) -> tuple[str | None, str | None]:
    """(method, text); (None, None) for None."""
    if value is None:
        return None, None
    return METHOD, _fernet(encryption_key).encrypt(value.encode()).decode()


def decrypt(method: str | None, data: str | None, encryption_key: str | None = None) -> str | None:
    """The clear text. Raises InvalidEncryptionKey when the key is another one, Error for an unknown method."""
    if method is None or data is None:
        return None
    if method != METHOD:
        raise exception.Error(_('Cannot decrypt a value that was encrypted with the method "%s".') % method)
    from cryptography.fernet import InvalidToken
    try:
        return str(_fernet(encryption_key).decrypt(data.encode()).decode())
    except InvalidToken:
        raise exception.InvalidEncryptionKey()


def seal(text: str, encryption_key: str | None = None) -> str:
    """One text with its method's name in front: no JSON begins like that, so a column may hold either."""
    method, secret = encrypt(text, encryption_key)
    return f'{method}:{secret}'


def is_sealed(text: str) -> bool:
    return text.startswith(f'{METHOD}:')


def unseal(text: str, encryption_key: str | None = None) -> str:
    """What was given to `seal`. Raises InvalidEncryptionKey."""
    method, _colon, secret = text.partition(':')
    return decrypt(method, secret, encryption_key) or ''


def encrypted_dict(data: Mapping[str, Any], encryption_key: str | None = None) -> dict[str, Any]:
    """Each value as JSON, encrypted: {name: (method, text)}."""
    return {name: encrypt(json.dumps(value), encryption_key) for name, value in data.items()}


def decrypted_dict(data: Mapping[str, Any], encryption_key: str | None = None) -> dict[str, Any]:
    return {name: json.loads(decrypt(method, text, encryption_key) or 'null')
            for name, (method, text) in data.items()}


_KNOWN: dict[str, Any] = {}                 # key -> Fernet; there is one key in an installation, two in a rotation


def _fernet(encryption_key: str | None) -> Any:
    key = encryption_key or cfg.CONF.auth_encryption_key
    if not key:
        raise exception.Error(_('The option auth_encryption_key is not set.'))
    if key not in _KNOWN:
        from cryptography.fernet import Fernet
        full = (key * (KEY_LENGTH // len(key) + 1))[:KEY_LENGTH]
        _KNOWN[key] = Fernet(base64.b64encode(full.encode()))
    return _KNOWN[key]
