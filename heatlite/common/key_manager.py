"""Reads the encryption keys of this service from a key manager, such as Barbican, through castellan.

The options name secrets; their texts become the options that have keys, in this process alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatlite.common import crypt, exception
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

LOG = logging.getLogger(__name__)
CURRENT, OTHERS = 'auth_encryption_key_id', 'auth_decryption_key_ids'


def is_used(conf: ConfigOpts) -> bool:
    """Whether keys are still to be read."""
    return bool(conf[CURRENT] or conf[OTHERS])


def load(conf: ConfigOpts, timeout: float | None = None) -> None:
    """Replace ids of keys in the options by the keys. Does nothing where there are none, as after the first call.

    Asks for all of them within `timeout` seconds, by default `[clients] timeout`. Raises Error, which names the id and
    the option.
    """
    if not is_used(conf):
        return
    if conf[CURRENT] and conf.auth_encryption_key:
        raise exception.Error(_('The options auth_encryption_key and auth_encryption_key_id are both set.'))
    ids = [*([conf[CURRENT]] if conf[CURRENT] else []), *conf[OTHERS]]
    keys = dict(zip(ids, _asked(conf, ids, timeout or conf.clients.timeout), strict=True))
    for secret_id, key in keys.items():
        if len(key) != crypt.KEY_LENGTH or not key.isascii():
            raise exception.Error(
                _('The secret %(id)s of the key manager (option %(option)s) has %(found)d characters: a key has '
                  'exactly %(wanted)d ASCII characters.') % {'id': secret_id, 'option': _option(conf, secret_id),
                                                             'found': len(key), 'wanted': crypt.KEY_LENGTH})
    if conf[CURRENT]:
        conf.set_override('auth_encryption_key', keys[conf[CURRENT]])
    conf.set_override('auth_decryption_keys', [*conf.auth_decryption_keys, *(keys[each] for each in conf[OTHERS])])
    conf.set_override(CURRENT, None)
    conf.set_override(OTHERS, [])
    LOG.info('%d encryption keys were read from the key manager', len(keys))


def _option(conf: ConfigOpts, secret_id: str) -> str:
    return CURRENT if secret_id == conf[CURRENT] else OTHERS


def _asked(conf: ConfigOpts, ids: Sequence[str], timeout: float) -> list[str]:
    """Return the texts of the secrets. castellan waits for ever: it gets a thread of its own, which ends with the
    process."""
    found: list[str] = []
    failed: list[exception.HeatException] = []

    def ask() -> None:
        try:
            found.extend(_read(conf, ids))
        except exception.HeatException as error:
            failed.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout)
    if failed:
        raise failed[0]
    if thread.is_alive():
        raise exception.Error(_('The key manager (option [key_manager] backend) has not answered within %g seconds: '
                                'the encryption keys could not be read.') % timeout)
    return found


def _read(conf: ConfigOpts, ids: Sequence[str]) -> list[str]:
    try:
        from castellan import key_manager
        from castellan.common import utils
        from castellan.key_manager.vault_key_manager import VaultKeyManager
    except ImportError:
        raise exception.Error(_('The option %s is set, and the extra "key-manager" of heatlite is not installed.') % (
            _option(conf, ids[0]))) from None
    found: list[str] = []
    for secret_id in ids:
        try:
            manager = key_manager.API(conf)
            # Vault's login is in [vault], and [key_manager] has none for it.
            login = None if isinstance(manager, VaultKeyManager) else utils.credential_factory(conf=conf)
            text = manager.get(login, secret_id).get_encoded()
        except Exception as error:                  # of castellan, its back ends and their clients
            raise exception.Error(
                _('The secret %(id)s (option %(option)s) could not be read from the key manager (option [key_manager] '
                  'backend = %(backend)s): %(error)s') % {
                      'id': secret_id, 'option': _option(conf, secret_id), 'backend': conf.key_manager.backend,
                      'error': ' '.join(str(error).split()) or type(error).__name__}) from None
        found.append(text.decode('latin-1') if isinstance(text, bytes) else str(text))
    return found
