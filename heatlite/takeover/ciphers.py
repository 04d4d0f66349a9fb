"""Decrypts the values of a Heat database with the key of its configuration.

Heat stores the name of the method with each value. Keys have 32 characters; a shorter one is doubled for Fernet, and a
longer one cut, as Heat does.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.modes import CBC, CFB

LENGTH = 32                                 # characters of a key
BLOCK = 16                                  # bytes of the initial vector in front of a value


def _fernet(secret: str, key: str) -> bytes:
    from cryptography.fernet import Fernet, InvalidToken
    long = key * 2 if len(key) < LENGTH else key
    try:
        return Fernet(base64.b64encode(long[:LENGTH].encode())).decrypt(secret.encode())
    except InvalidToken:
        raise exception.InvalidEncryptionKey() from None


def _cfb(secret: str, key: str) -> bytes:
    try:                                    # there in new releases of the library, which calls it outdated
        from cryptography.hazmat.decrepit.ciphers.modes import CFB
    except ImportError:
        from cryptography.hazmat.primitives.ciphers.modes import CFB
    return _aes(secret, key, CFB)


def _cbc(secret: str, key: str) -> bytes:
    """Decrypt with the mode CBC: the last byte gives the number of zeros before it."""
    from cryptography.hazmat.primitives.ciphers.modes import CBC
    padded = _aes(secret, key, CBC)
    zeros = padded[-1] if padded else BLOCK
    if zeros >= BLOCK or padded[-1 - zeros:-1].strip(b'\0'):
        raise exception.InvalidEncryptionKey()
    return padded[:-1 - zeros]


def _aes(secret: str, key: str, mode: Callable[[bytes], CBC | CFB]) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
    vectored = base64.b64decode(secret, validate=True)
    decryptor = Cipher(algorithms.AES(key[:LENGTH].encode()), mode(vectored[:BLOCK])).decryptor()
    return decryptor.update(vectored[BLOCK:]) + decryptor.finalize()


METHODS: Mapping[str, Callable[[str, str], bytes]] = {
    'cryptography_decrypt_v1': _fernet,     # of all present releases
    'oslo_decrypt_v1': _cbc,                # of releases before 2016
    'heat_decrypt': _cfb,                   # of releases before 2014
}


def decrypt(method: str, secret: str, key: str) -> str:
    """Return the clear text. Raises InvalidEncryptionKey for another key or a damaged value, Error for an unknown
    method."""
    decrypted = METHODS.get(method)
    if decrypted is None:
        raise exception.Error(_('"%s" is no method by which Heat encrypts.') % method)
    try:
        return decrypted(secret, key).decode()
    except (ValueError, IndexError, binascii.Error):
        raise exception.InvalidEncryptionKey() from None


def decrypted_json(secret: object, key: str) -> object:
    """Return the value of a pair [method, text], in which Heat encrypts JSON."""
    if not (isinstance(secret, list) and len(secret) == 2 and all(isinstance(part, str) for part in secret)):
        raise ValueError(_('an encrypted value is no pair of a method and a text'))
    try:
        return json.loads(decrypt(secret[0], secret[1], key))
    except ValueError:
        raise exception.InvalidEncryptionKey() from None
