"""The default rules, role by role, and what operators can change about them."""

import errno
import logging
import os
from pathlib import Path

import pytest
import yaml
from oslo_config import cfg
from oslo_policy import opts as policy_options
from oslo_policy import policy as oslo_policy

from heatlite.common import config, exception, log_throttle, policy
from heatlite.common.context import RequestContext

READ = {'stacks:index', 'stacks:show', 'events:index', 'resource:show', 'actions:check', 'build_info:build_info',
        'stacks:preview', 'software_configs:index', 'software_deployments:show'}
WRITE = {'stacks:create', 'stacks:update', 'stacks:update_patch', 'stacks:update_no_change', 'stacks:delete',
         'actions:suspend', 'resource:mark_unhealthy', 'stacks:snapshot', 'stacks:validate_template',
         'resource:show_access'}
GUEST = {'stacks:lookup', 'resource:signal', 'resource:metadata', 'software_deployments:metadata'}


def options(tmp_path, **overrides):
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    policy_options.set_defaults(conf)
    conf.set_override('policy_file', str(tmp_path / 'policy.yaml'), group='oslo_policy')
    for name, value in overrides.items():
        conf.set_override(name, value, group='oslo_policy')
    return conf


def make(tmp_path, rules=None, **overrides):
    (tmp_path / 'policy.yaml').write_text(yaml.safe_dump(rules or {}))
    return policy.Policy(options(tmp_path, **overrides))


def caller(*roles, project='p', user='u', **more):
    return RequestContext(project_id=project, user_id=user, roles=list(roles), overwrite=False, **more)


@pytest.mark.parametrize('roles, allowed, refused', [
    (('reader',), READ | GUEST, WRITE | {'service:index', 'stacks:global_index'}),
    (('member',), WRITE, READ | GUEST | {'service:index', 'stacks:global_index'}),
    (('member', 'reader'), READ | WRITE | GUEST, {'service:index', 'stacks:global_index'}),
    (('admin', 'member', 'reader'), READ | WRITE | GUEST | {'service:index'},
     {'stacks:global_index', 'software_configs:global_index'}),
    (('heat_stack_user',), GUEST, READ | WRITE),
    ((), set(), READ | WRITE | GUEST),
])
def test_defaults(tmp_path, roles, allowed, refused):
    rules = make(tmp_path)
    context = caller(*roles)
    assert {rule for rule in allowed | refused if rules.allows(context, rule)} == allowed


def test_the_refusal_names_the_rule(tmp_path):
    with pytest.raises(exception.Forbidden, match=r'^You are not authorized to use stacks:create\.$'):
        make(tmp_path).enforce(caller('reader'), 'stacks:create')


def test_a_rule_that_does_not_exist_refuses(tmp_path):
    assert not make(tmp_path).allows(caller('admin', 'member', 'reader'), 'stacks:nonsense')


def test_system_scope_is_refused(tmp_path):
    assert not make(tmp_path).allows(caller('reader', project=None, system_scope='all'), 'stacks:index')


def test_former_rules_on_demand(tmp_path):
    rules = make(tmp_path, enforce_new_defaults=False)
    assert rules.allows(caller('whatever'), 'stacks:create')
    assert not rules.allows(caller('heat_stack_user'), 'stacks:create')
    assert rules.allows(caller('heat_stack_user', project='q'), 'resource:signal')


def test_operators_override(tmp_path):
    rules = make(tmp_path, {'stacks:create': 'role:builder', 'resource_types:OS::Nova::Server': 'role:builder',
                            'resource_types:OS::Toys::*': '!', 'plans:approve': 'role:approver',
                            'stacks:unprotect': 'role:guard'})
    assert rules.allows(caller('approver'), 'plans:approve') and rules.allows(caller('member'), 'plans:apply')
    assert not rules.allows(caller('member'), 'plans:approve')
    assert not rules.allows(caller('member'), 'stacks:unprotect')
    assert rules.allows(caller('builder'), 'stacks:create')
    assert not rules.allows(caller('member'), 'stacks:create')
    assert not rules.allows_type(caller('member'), 'OS::Nova::Server')
    assert not rules.allows_type(caller('builder'), 'OS::Toys::Lamp')
    assert rules.allows_type(caller('member'), 'OS::Nova::KeyPair')


@pytest.mark.parametrize('rules, overrides, who, who_not', [
    ({'stacks:update_patch': 'role:builder'}, {}, 'builder', 'member'),
    ({}, {'enforce_new_defaults': False}, 'whatever', 'heat_stack_user'),
    ({'stacks:update_patch': 'role:builder', 'resource:show_access': 'role:guard'}, {}, 'guard', 'builder')])
def test_who_may_change_a_stack_sees_what_gives_access(tmp_path, rules, overrides, who, who_not):
    """Also where an operator has roles of other names."""
    made = make(tmp_path, rules, **overrides)
    assert made.allows(caller(who), policy.SHOW_ACCESS)
    assert not made.allows(caller(who_not), policy.SHOW_ACCESS)


@pytest.mark.parametrize('name, roles, allowed', [
    ('OS::Nova::Flavor', ['member'], False), ('OS::Nova::Flavor', ['admin'], True),
    ('OS::Keystone::User', ['member'], False), ('OS::Keystone::User', ['admin'], True),
    ('OS::Nova::Server', ['member'], True), ('my::type', [], True), ('plain.yaml', [], True)])
def test_resource_types(tmp_path, name, roles, allowed):
    assert make(tmp_path).allows_type(caller(*roles), name) is allowed


def test_an_admin_of_the_admin_project_only(tmp_path):
    rules = make(tmp_path)
    assert rules.is_admin(caller('admin'))
    assert not rules.is_admin(caller('admin', is_admin_project=False))
    assert not rules.is_admin(caller('member'))


def test_answers_are_remembered_until_the_file_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(policy.Policy, 'POLL_SECONDS', 0.0)
    rules = make(tmp_path)
    reader = caller('reader')
    assert [rules.allows(reader, 'stacks:show') for _again in range(2)] == [True, True]
    assert not rules.allows(caller('reader', project=None), 'stacks:create')
    file = tmp_path / 'policy.yaml'
    file.write_text(yaml.safe_dump({'stacks:show': 'role:auditor'}))
    os.utime(file, (2**31, 2**31))
    assert not rules.allows(reader, 'stacks:show')
    assert rules.allows(caller('auditor'), 'stacks:show')


WRONG = {
    'not-yaml': ('"stacks:index": "!"\n"stacks:show": "role:reader', '/policy.yaml:2: is not YAML'),
    'list': ('- stacks:index', '/policy.yaml:1: is a list'),
    'no-rule': ('"stacks:show": "!"\n"stacks:index":', '/policy.yaml:2: stacks:index has no rule'),
    'number': ('"stacks:index": 1', '/policy.yaml:1: stacks:index has no rule'),
    'bytes': (b'"stacks:index": "\xff"', '/policy.yaml: is not text in UTF-8'),
    'folder': (Path.mkdir, '/policy.yaml: Is a directory'),
}
EDITED = {
    **WRONG, 'empty': ('', '/policy.yaml is empty'), 'gone': (lambda _file: None, '/policy.yaml is gone'),
}


def replace(file, content):
    """Replaces a file: by a text, by bytes, or by what a function makes in its place."""
    if file.is_dir():
        file.rmdir()
    file.unlink(missing_ok=True)
    if isinstance(content, bytes | str):
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    else:
        content(file)


@pytest.mark.parametrize('content, words', EDITED.values(), ids=EDITED)
def test_a_file_that_is_being_edited_leaves_all_rules(tmp_path, monkeypatch, caplog, content, words):
    monkeypatch.setattr(policy.Policy, 'POLL_SECONDS', 0.0)
    log_throttle.forget()
    rules = make(tmp_path, {'stacks:index': 'role:auditor'})
    file = tmp_path / 'policy.yaml'
    replace(file, content)
    for _again in range(3):
        assert rules.allows(caller('auditor'), 'stacks:index') and not rules.allows(caller('reader'), 'stacks:index')
        assert rules.allows_type(caller('member'), 'OS::Nova::Server')
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1 and f'{tmp_path}{words}' in said[0] and 'doctor --only policy' in said[0], said
    assert all(record.exc_info is None for record in caplog.records)
    replace(file, '"stacks:index": "role:reader"')
    assert rules.allows(caller('reader'), 'stacks:index')


@pytest.mark.parametrize('content, words', WRONG.values(), ids=WRONG)
def test_no_program_starts_with_a_wrong_file(tmp_path, content, words):
    replace(tmp_path / 'policy.yaml', content)
    with pytest.raises(exception.Error) as refused:
        policy.Policy(options(tmp_path))
    assert f'{tmp_path}{words}' in str(refused.value) and len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize('content', ['', '# comments\n', '{}'], ids=['empty', 'comments', 'no-rules'])
def test_a_program_starts_with_a_file_without_rules(tmp_path, content):
    replace(tmp_path / 'policy.yaml', content)
    assert policy.Policy(options(tmp_path)).allows(caller('reader'), 'stacks:index')


def test_files_of_folders_replace_rules_and_are_not_taken_by_half(tmp_path, monkeypatch):
    monkeypatch.setattr(policy.Policy, 'POLL_SECONDS', 0.0)
    folder = tmp_path / 'policy.d'
    folder.mkdir()
    (folder / '10.yaml').write_text('"stacks:index": "role:auditor"')
    (folder / '.20.yaml.swp').write_text('not: [for us')
    rules = make(tmp_path, {'stacks:index': 'role:guard', 'stacks:show': 'role:guard'}, policy_dirs=[str(folder)])
    assert rules.allows(caller('auditor'), 'stacks:index') and not rules.allows(caller('guard'), 'stacks:index')
    replace(tmp_path / 'policy.yaml', '"stacks:show": "role:reader"')
    replace(folder / '10.yaml', 'half: "')
    assert rules.allows(caller('guard'), 'stacks:show') and not rules.allows(caller('reader'), 'stacks:show')
    replace(folder / '10.yaml', '"stacks:index": "role:auditor"')
    assert rules.allows(caller('reader'), 'stacks:show') and rules.allows(caller('auditor'), 'stacks:index')


@pytest.mark.parametrize('is_over', [False, True], ids=['at-once', 'a-minute-later'])
def test_the_rules_of_a_file_that_was_removed_go_after_a_minute(tmp_path, monkeypatch, is_over):
    """And so do changes of other files take effect that waited for it."""
    monkeypatch.setattr(policy.Policy, 'POLL_SECONDS', 0.0)
    monkeypatch.setattr(policy.Policy, 'REMOVED', 0.0 if is_over else 3600.0)
    folder = tmp_path / 'policy.d'
    folder.mkdir()
    (folder / '10.yaml').write_text('"stacks:index": "role:auditor"')
    rules = make(tmp_path, {'stacks:show': 'role:guard'}, policy_dirs=[str(folder)])
    (folder / '10.yaml').unlink()
    replace(tmp_path / 'policy.yaml', '"stacks:show": "role:reader"')
    for rule in 'stacks:index', 'stacks:show':
        assert rules.allows(caller('reader'), rule) is is_over


def test_a_file_whose_folder_is_gone_was_not_removed_on_purpose(tmp_path, monkeypatch):
    monkeypatch.setattr(policy.Policy, 'POLL_SECONDS', 0.0)
    monkeypatch.setattr(policy.Policy, 'REMOVED', 0.0)
    folder = tmp_path / 'policy.d'
    folder.mkdir()
    (folder / '10.yaml').write_text('"stacks:index": "role:auditor"')
    rules = make(tmp_path, policy_dirs=[str(folder)])
    folder.rename(tmp_path / 'elsewhere')
    assert not rules.allows(caller('reader'), 'stacks:index')


@pytest.mark.parametrize('is_there, who', [(False, 'auditor'), (True, 'reader')])
def test_the_file_that_was_the_default_before_is_read_without_the_present_one(tmp_path, is_there, who):
    """oslo.policy did so until its release 5: the file may reserve requests for some."""
    (tmp_path / 'heat.conf').touch()
    (tmp_path / 'policy.json').write_text('{"stacks:index": "role:auditor"}')
    if is_there:
        (tmp_path / 'policy.yaml').write_text('"stacks:show": "role:auditor"')
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf(['--config-file', str(tmp_path / 'heat.conf')], default_config_dirs=[])
    rules = policy.Policy(conf)
    assert {role for role in ('auditor', 'reader') if rules.allows(caller(role), 'stacks:index')} == {who}


def test_a_folder_that_cannot_be_read_leaves_all_rules(tmp_path, monkeypatch, caplog):
    """A program does not start with it, and the error is no traceback."""
    monkeypatch.setattr(policy.Policy, 'POLL_SECONDS', 0.0)
    log_throttle.forget()
    folder = tmp_path / 'policy.d'
    folder.mkdir()
    (folder / '10.yaml').write_text('"stacks:index": "role:auditor"')
    rules = make(tmp_path, policy_dirs=[str(folder)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, 'iterdir', refuse)
        for _again in range(2):
            assert rules.allows(caller('auditor'), 'stacks:index')
            assert not rules.allows(caller('reader'), 'stacks:index')
        with pytest.raises(exception.Error, match='/policy.d: Permission denied'):
            make(tmp_path, policy_dirs=[str(folder)])
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1 and '/policy.d: Permission denied' in said[0]


def refuse(_path):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.parametrize('rule, differs', [
    ('project_id:q', {'project': 'q'}), ('is_admin_project:False', {'is_admin_project': False}),
    ('user_domain_id:d', {'user_domain_id': 'd'}), ('role:auditor', {'roles': ['reader', 'auditor']})])
def test_an_answer_is_remembered_for_one_kind_of_caller(tmp_path, rule, differs):
    rules = make(tmp_path, {'stacks:show': rule})
    roles = differs.pop('roles', ['reader'])
    for _again in range(2):
        assert not rules.allows(caller('reader'), 'stacks:show')
        assert rules.allows(caller(*roles, **differs), 'stacks:show')


def test_an_answer_is_remembered_under_all_that_a_rule_may_ask_of_the_caller():
    known = {*policy._VALUES, 'roles', 'service_roles', 'user', 'tenant', 'auth_token_info'}
    assert set(caller('reader').to_policy_values()) == known


@pytest.mark.parametrize('rule, differs', [
    ('user:u2', {'user': 'u2'}), ('tenant:q', {'project': 'q'}), ('is_admin:True', {'is_admin': True}),
    ('auth_token_info.token.project.domain.id:d2',
     {'auth_token_info': {'token': {'project': {'domain': {'id': 'd2'}}}}})])
@pytest.mark.parametrize('is_negated', [False, True])
def test_rules_may_use_the_names_of_heat(tmp_path, rule, differs, is_negated):
    rules = make(tmp_path, {'stacks:show': f'not {rule}' if is_negated else rule})
    token = {'auth_token_info': {'token': {'project': {'domain': {'id': 'd1'}}}}}
    for _again in range(2):
        assert rules.allows(caller('reader', **token), 'stacks:show') is is_negated
        assert rules.allows(caller('reader', **{**token, **differs}), 'stacks:show') is not is_negated


def test_the_answer_of_another_service_is_not_remembered(tmp_path):
    rules = make(tmp_path, {'stacks:show': 'role:reader and Odd:times'})
    assert [rules.allows(caller('reader'), 'stacks:show') for _again in range(4)] == [True, False, True, False]


class Odd(oslo_policy.Check):
    """Like one that asks somebody: its answers depend on more than who asks."""

    asked = 0

    def __call__(self, target, creds, enforcer, current_rule=None):
        Odd.asked += 1
        return Odd.asked % 2 == 1


oslo_policy.register('Odd', Odd)


def test_the_enforcer_of_the_library_reads_no_file(tmp_path):
    """It asks `_get_policy_path` where files are, and calls `load_rules` before each question: ours answer neither."""
    (tmp_path / 'policy.yaml').write_text('"stacks:index": "!"')
    enforcer = policy.Enforcer(options(tmp_path), [])
    who = caller('reader')
    for _again in range(2):
        assert enforcer.enforce('stacks:index', {'project_id': 'p'}, who)
