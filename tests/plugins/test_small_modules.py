"""The small modules plug-ins import."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from oslo_config import cfg

from heatlite.common import (
    crypt,
    environment_format,
    exception,
    netutils,
    param_utils,
    password_gen,
    timeutils,
    urlfetch,
)
from heatlite.engine import lifecycle_plugin

KEY = 'k' * 32


# --- passwords -------------------------------------------------------------------------------------------

def test_draws_are_even(runtime):
    source = password_gen.RandomSource(runtime)
    counts = [0] * 10
    for _draw in range(5000):
        counts[source.below(10)] += 1
    assert min(counts) > 400 and max(counts) < 600
    assert {source.below(1) for _draw in range(5)} == {0}


def test_every_class_of_an_openstack_password(runtime):
    word = password_gen.generate_openstack_password()
    assert len(word) == 32
    assert any(c.islower() for c in word) and any(c.isupper() for c in word) and any(c.isdigit() for c in word)
    assert set(word) & set(password_gen.SPECIAL)


def test_minimums_may_exceed_the_length(runtime):
    assert len(password_gen.generate_password(1, [password_gen.special_char_class('ab', 3)])) == 3


def test_the_same_world_makes_the_same_password():
    from tests.plugins.bench import SteppedRuntime
    kinds = [password_gen.named_char_class('letters')]
    assert (password_gen.generate_password(20, kinds, SteppedRuntime(3))
            == password_gen.generate_password(20, kinds, SteppedRuntime(3))
            != password_gen.generate_password(20, kinds, SteppedRuntime(4)))


# --- secrets ---------------------------------------------------------------------------------------------

def test_secrets_come_back_with_the_same_key_only():
    method, text = crypt.encrypt('glow', KEY)
    assert method == 'aes_gcm_v1' and 'glow' not in text
    assert crypt.decrypt(method, text, KEY) == 'glow'
    with pytest.raises(exception.InvalidEncryptionKey):
        crypt.decrypt(method, text, 'x' * 32)
    with pytest.raises(exception.Error, match='method "rot13"'):
        crypt.decrypt('rot13', text, KEY)
    assert crypt.encrypt(None, KEY) == (None, None) and crypt.decrypt(None, None, KEY) is None
    given = {'a': [1, {'b': None}], 'c': 'text'}
    assert crypt.decrypted_dict(crypt.encrypted_dict(given, KEY), KEY) == given


def test_a_value_encrypted_by_the_scheme_operators_have():
    """Fernet with the base64 form of the 32 characters, as existing databases hold it."""
    import base64

    from cryptography.fernet import Fernet
    stored = Fernet(base64.b64encode(KEY.encode())).encrypt(b'glow').decode()
    assert crypt.decrypt('cryptography_decrypt_v1', stored, KEY) == 'glow'
    stored = Fernet(base64.b64encode(b'shortshortshortshortshortshortsh')).encrypt(b'glow').decode()
    assert crypt.decrypt('cryptography_decrypt_v1', stored, 'short') == 'glow'


def test_each_value_is_sealed_anew_and_read_whatever_process_sealed_it(monkeypatch):
    first, second = crypt.seal('glow', KEY), crypt.seal('glow', KEY)
    assert first != second
    monkeypatch.setattr(crypt, 'USES', 1)               # as another process, which derives a key of its own
    monkeypatch.setattr(crypt, '_GIVEN', {})
    third, fourth = crypt.seal('glow', KEY), crypt.seal('glow', KEY)
    salts = {each.partition(':')[2][:20] for each in (first, second, third, fourth)}
    assert len(salts) == 3
    assert {crypt.unseal(each, KEY) for each in (first, second, third, fourth)} == {'glow'}
    other = 'y' if first[40] == 'x' else 'x'
    for damaged in (first[:-8], f'{first[:40]}{other}{first[41:]}', first[:14], 'aes_gcm_v1:~'):
        with pytest.raises(exception.InvalidEncryptionKey):
            crypt.unseal(damaged, KEY)


@pytest.mark.parametrize('key', [None, '', 'short', 'k' * 16, 'k' * 31, 'k' * 33, 'é' * 32])
def test_a_key_of_another_length_is_refused_by_the_name_of_its_option(key):
    good = 'k' * 32
    crypt.check_keys(SimpleNamespace(auth_encryption_key=good, auth_decryption_keys=[good, 'n' * 32]))
    with pytest.raises(exception.Error, match='auth_encryption_key .*exactly 32') as caught:
        crypt.check_keys(SimpleNamespace(auth_encryption_key=key, auth_decryption_keys=[]))
    assert key is None or len(key) < 5 or key not in str(caught.value)
    with pytest.raises(exception.Error, match='auth_decryption_keys .*exactly 32'):
        crypt.check_keys(SimpleNamespace(auth_encryption_key=good, auth_decryption_keys=[good, key or '']))


def test_a_keyring_encrypts_with_its_key_and_decrypts_with_others():
    old, new = crypt.Keyring(KEY), 'n' * 32
    ring = crypt.Keyring(new, lambda: [KEY])
    former = old.seal(b'glow')
    assert ring.opened(crypt.METHOD, former) == (b'glow', KEY)
    assert ring.opened(crypt.METHOD, ring.seal(b'glow')) == (b'glow', new)
    for stranger in (old, crypt.Keyring('x' * 32, lambda: [KEY])):
        with pytest.raises(exception.InvalidEncryptionKey):
            stranger.open(ring.seal(b'glow'))
    with pytest.raises(exception.Error, match='method'):
        ring.opened('rot13', former)


def test_a_missing_key_is_named():
    before = cfg.CONF.auth_encryption_key
    cfg.CONF.set_override('auth_encryption_key', None)
    try:
        with pytest.raises(exception.Error, match='auth_encryption_key is not set'):
            crypt.encrypt('glow')
    finally:
        cfg.CONF.set_override('auth_encryption_key', before)


# --- times -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize('text, seconds', [
    ('PT1H', 3600), ('PT1M', 60), ('PT1S', 1), ('PT1H30M15S', 5415), ('PT0S', 0),
])
def test_durations(text, seconds):
    assert timeutils.parse_isoduration(text) == seconds


@pytest.mark.parametrize('text', [
    'PT', 'P1D', '1H', 'PT1M1H', 'PT1.5S', '', pytest.param(f'PT{"1" * 5000}S', id='a long number')])
def test_other_durations(text):
    with pytest.raises(ValueError, match='PT#H#M#S'):
        timeutils.parse_isoduration(text)


def test_waits_before_trying_again(runtime):
    assert [timeutils.retry_backoff_delay(attempt) for attempt in (0, 1, 2, 5)] == [1, 2, 4, 32]
    assert timeutils.retry_backoff_delay(2, 3) == 12
    assert 4 <= timeutils.retry_backoff_delay(2, jitter_max=2.0) < 6


def test_spans_of_time(runtime):
    span = timeutils.Duration(5)
    runtime.sleep(5)
    assert not span.expired()
    runtime.sleep(1)
    assert span.expired() and span.endtime() == 5
    assert timeutils.isotime(runtime.now()) == '2026-01-01T00:00:06Z'


# --- documents -------------------------------------------------------------------------------------------

def test_only_allowed_schemes_are_fetched(tmp_path):
    (tmp_path / 't.yaml').write_text('heat_template_version: wallaby')
    url = f'file://{tmp_path}/t.yaml'
    assert urlfetch.get(url, urlfetch.LOCAL_TOO) == 'heat_template_version: wallaby'
    with pytest.raises(urlfetch.URLFetchError, match=r'^Invalid URL scheme file$'):
        urlfetch.get(url)
    for schemes in (('http', 'https'), ['https'], ()):      # as plug-ins hand them in
        with pytest.raises(urlfetch.URLFetchError, match=r'^Invalid URL scheme file$'):
            urlfetch.get(url, schemes)
    with pytest.raises(urlfetch.URLFetchError, match=r'^Invalid URL scheme ftp$'):
        urlfetch.get('ftp://host/t.yaml', allowed_schemes=('ftp', 'file'))
    with pytest.raises(urlfetch.URLFetchError, match=r'^Invalid URL scheme$'):
        urlfetch.get('t.yaml')
    with pytest.raises(urlfetch.URLFetchError, match='Failed to retrieve template'):
        urlfetch.get(f'file://{tmp_path}/none.yaml', urlfetch.LOCAL_TOO)
    cfg.CONF.set_override('max_template_size', 5)
    try:
        with pytest.raises(urlfetch.URLFetchError, match=r'Template exceeds maximum allowed size \(5 bytes\)'):
            urlfetch.get(url, urlfetch.LOCAL_TOO)
    finally:
        cfg.CONF.clear_override('max_template_size')


@pytest.mark.parametrize('text, error', [
    ('foo: {}', 'environment has wrong section "foo"'), ('parameters:', 'environment has empty section "parameters"'),
    ('[]', 'The environment is not a valid YAML mapping data type.'), ('a: [', 'expected node content'),
])
def test_environments_that_are_none(text, error):
    with pytest.raises(ValueError, match=error):
        environment_format.parse(text)


def test_environments():
    found = environment_format.parse('parameters: {at: 2026-01-01}')
    assert found == {'parameters': {'at': '2026-01-01'}}
    environment_format.default_for_missing(found)
    assert set(found) == set(environment_format.SECTIONS)
    assert environment_format.parse('') == {}


# --- parameters and networks -----------------------------------------------------------------------------

@pytest.mark.parametrize('call, result', [
    (lambda: param_utils.extract_bool('x', 'True'), True), (lambda: param_utils.extract_bool('x', False), False),
    (lambda: param_utils.extract_int('x', '3'), 3), (lambda: param_utils.extract_int('x', None), None),
    (lambda: param_utils.extract_int('x', -1, allow_negative=True), -1),
    (lambda: param_utils.extract_tags('a,b'), ['a', 'b']), (lambda: param_utils.delim_string_to_list(''), []),
    (lambda: param_utils.delim_string_to_list('a,b'), ['a', 'b']),
    (lambda: param_utils.delim_string_to_list(None), None),
    (lambda: param_utils.extract_template_type('HOT'), 'hot'),
])
def test_values_of_requests(call, result):
    assert call() == result


@pytest.mark.parametrize('call', [
    lambda: param_utils.extract_bool('x', 1), lambda: param_utils.extract_int('x', 'one'),
    lambda: param_utils.extract_int('x', True), lambda: param_utils.extract_int('x', 0, allow_zero=False),
    lambda: param_utils.extract_int('x', -1), lambda: param_utils.extract_tags('a' * 81),
    lambda: param_utils.extract_template_type('json'),
])
def test_values_of_requests_that_are_wrong(call):
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize('name', ['', 'a', 'a.b', 'a.b.', 'x-1.example', '10.in-addr.arpa'])
def test_host_names(name):
    assert netutils.validate_dns_format(name) is None


@pytest.mark.parametrize('name, text', [
    ('a..b', 'empty component'), ('-a', 'alphanumeric or a hyphen'), ('a.1', 'all numeric'),
    ('a' * 64, '1-63 characters'), ('.'.join(['a' * 60] * 5), '255 character FQDN limit'),
])
def test_other_host_names(name, text):
    with pytest.raises(ValueError, match=text):
        netutils.validate_dns_format(name)


def test_networks_within_networks():
    assert netutils.is_prefix_subset(['10.0.0.0/24'], ['10.0.0.0/16'])
    assert not netutils.is_prefix_subset(['10.0.0.0/16'], ['10.0.0.0/24'])


# --- lifecycle plug-ins ----------------------------------------------------------------------------------

class Told(lifecycle_plugin.LifecyclePlugin):
    log: list = []

    def __init__(self, name, ordinal, fails=False):
        self.name, self.ordinal, self.fails = name, ordinal, fails

    def get_ordinal(self):
        return self.ordinal

    def do_pre_op(self, cnxt, stack, current_stack=None, action=None):
        self.log.append((self.name, 'pre', action))
        if self.fails:
            raise ValueError('not today')

    def do_post_op(self, cnxt, stack, current_stack=None, action=None, is_stack_failure=False):
        self.log.append((self.name, 'post', is_stack_failure))
        if self.fails:
            raise ValueError('logged only')


def test_lifecycle_plugins_in_order():
    Told.log.clear()
    both = lifecycle_plugin.LifecyclePlugins([Told('b', 200), Told('a', 100)])
    both.before(None, None, action='CREATE')
    both.after(None, None, action='CREATE', is_stack_failure=True)
    assert Told.log == [('a', 'pre', 'CREATE'), ('b', 'pre', 'CREATE'), ('a', 'post', True), ('b', 'post', True)]


def test_a_failing_one_fails_the_action_and_the_others_are_told():
    Told.log.clear()
    plugins = lifecycle_plugin.LifecyclePlugins([Told('a', 1), Told('b', 2, fails=True), Told('c', 3)])
    with pytest.raises(ValueError, match='not today'):
        plugins.before(None, None, action='CREATE')
    assert Told.log == [('a', 'pre', 'CREATE'), ('b', 'pre', 'CREATE'), ('a', 'post', True)]
    Told.log.clear()
    plugins.after(None, None)
    assert [name for name, _op, _failure in Told.log] == ['a', 'b', 'c']
