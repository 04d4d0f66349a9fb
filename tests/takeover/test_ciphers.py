"""Every method by which a Heat encrypts."""

import base64
import json
import os

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

try:
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
except ImportError:
    from cryptography.hazmat.primitives.ciphers.modes import CFB

from heatlite.common import exception
from heatlite.takeover import ciphers
from tests.takeover.heats import KEY, encrypted

# Made by Heat 27.0.1, with the keys beside them.
LONG = '0123456789abcdef0123456789abcdef'
SHORT = 'sixteen letters!'
OF_HEAT = [
    (LONG, 'gAAAAABrBNVCNYPozgXbgXBTvYiUy2eLmQ6KAPKhopaTqm6EbqUUYfXILLp0n1PCn58VGxEYd9v_tBod-m04EoDD9PalMYmuzg==',
     'tr\u00fcst'),
    (SHORT, 'gAAAAABrBNVCs8H3KK0YzBJeISCXoTzEq_ZnWHoyQ2e_hj5FqHEYH7_SPQYEh8cUQuXOoqgQfoZzLA0FF84ZX-uGRbfMX35_qw==',
     'short')]


def sealed(mode, clear):
    vector = os.urandom(16)
    sealer = Cipher(algorithms.AES(KEY.encode()), mode(vector)).encryptor()
    return base64.b64encode(vector + sealer.update(clear) + sealer.finalize()).decode()


def cbc(text):
    clear = text.encode()
    zeros = 16 - (len(clear) + 1) % 16 if (len(clear) + 1) % 16 else 0
    return sealed(modes.CBC, clear + b'\0' * zeros + bytes([zeros]))


@pytest.mark.parametrize('key, secret, clear', OF_HEAT)
def test_a_value_that_heat_encrypted(key, secret, clear):
    assert ciphers.decrypt('cryptography_decrypt_v1', secret, key) == clear


@pytest.mark.parametrize('text', ['', 'x', 'fifteen letters', 'sixteen letters!', 'a text that is longer, \u00fc'])
def test_methods_of_former_releases(text):
    assert ciphers.decrypt('oslo_decrypt_v1', cbc(text), KEY) == text
    assert ciphers.decrypt('heat_decrypt', sealed(CFB, text.encode()), KEY) == text


@pytest.mark.parametrize('method, make, key', [
    ('cryptography_decrypt_v1', lambda: encrypted('secret'), 'x' * 32),
    ('cryptography_decrypt_v1', lambda: 'no token', KEY),
    ('oslo_decrypt_v1', lambda: sealed(modes.CBC, b'sixteen letters!'), KEY),
    ('oslo_decrypt_v1', lambda: 'no base64!', KEY),
    ('oslo_decrypt_v1', lambda: '', KEY),
    ('heat_decrypt', lambda: 'no base64!', KEY),
], ids=['another key', 'no token', 'no padding', 'no base64', 'empty', 'no base64, old'])
def test_another_key_or_a_damaged_value(method, make, key):
    with pytest.raises(exception.InvalidEncryptionKey):
        ciphers.decrypt(method, make(), key)


def test_an_unknown_method():
    with pytest.raises(exception.Error, match='"rot13" is no method'):
        ciphers.decrypt('rot13', 'secret', KEY)


def test_pairs_hold_json():
    assert ciphers.decrypted_json(['cryptography_decrypt_v1', encrypted(json.dumps({'a': [1]}))], KEY) == {'a': [1]}
    for wrong in ('text', [], ['cryptography_decrypt_v1'], ['a', 1], None):
        with pytest.raises(ValueError, match='no pair'):
            ciphers.decrypted_json(wrong, KEY)
    with pytest.raises(exception.InvalidEncryptionKey):
        ciphers.decrypted_json(['cryptography_decrypt_v1', encrypted('no JSON')], KEY)
