"""What an update takes from the stored definition of its stack."""

from __future__ import annotations

import pytest

from heatlite.common import exception, turns
from heatlite.common.limits import MOST_FILES, MOST_TEXT_OF_FILES, Limits
from heatlite.common.template_files import Files
from heatlite.db.templates import StoredTemplate
from heatlite.engine.requests import sources
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.registry import Registry
from heatlite.rpc import messages
from tests.counted_texts import CountedText


def files(first: int, last: int) -> dict[str, str]:
    return {f'f{number}': '' for number in range(first, last)}


def updated(stored: dict[str, str], sent: dict[str, str]):
    return sources.over_existing(messages.UpdateStack(files=sent), StoredTemplate('t', {}, {}, Files(stored)))


@pytest.mark.parametrize('stored, sent, number', [
    (files(0, MOST_FILES - 1), files(0, MOST_FILES), MOST_FILES),
    (files(0, MOST_FILES + 500), files(0, 5), MOST_FILES + 500)])       # of an earlier release
def test_files_of_a_patch_come_over_the_stored_ones(stored, sent, number):
    assert len(updated(stored, sent).files) == number


@pytest.mark.parametrize('stored, sent', [
    (files(0, MOST_FILES), files(MOST_FILES, MOST_FILES + 1)), (files(0, MOST_FILES + 500), files(50_000, 50_001))])
def test_files_of_patches_do_not_add_up_beyond_the_limit(stored, sent):
    with pytest.raises(exception.RequestLimitExceeded, match='more than 10000 files'):
        updated(stored, sent)


LONG = 'a' * MOST_TEXT_OF_FILES


@pytest.mark.parametrize('stored, sent', [
    ({'a': LONG}, {'a': LONG}), ({'a': LONG + 'a'}, {'b': ''}), ({'a': 'a'}, {'a': LONG + 'a'})])
def test_a_patch_may_send_long_files(stored, sent):
    assert updated(stored, sent).files == {**stored, **sent}


def test_the_texts_of_patches_do_not_add_up_beyond_the_limit():
    with pytest.raises(exception.RequestLimitExceeded, match='more than 33554432 characters'):
        updated({'a': LONG}, {'b': 'b'})


def test_the_names_of_a_patch_are_added_without_a_search():
    kept, sent = ([CountedText(f'{letter}{number}') for number in range(1000)] for letter in 'ab')
    taken, CountedText.compared = [], 0
    turns.use(lambda *_owners: taken.append(True))
    try:
        found = sources.environment_over({'encrypted_param_names': kept}, {'encrypted_param_names': [*sent, kept[0]]})
    finally:
        turns.use(None)
    assert found['encrypted_param_names'] == [*kept, *sent]
    assert CountedText.compared <= 4000                 # 2000 of them are those of the line above
    assert len(taken) >= 9


def patched(stored, sent, limits, is_planned=False):
    document = {'heat_template_version': '2018-08-31', 'resources': {}}
    message = messages.UpdateStack(existing=True, template=document, environment=sent)
    return sources.define(message, StackIdentity('s', 'i', 'p'), Registry({}), limits, is_planned, stored).environment


@pytest.mark.parametrize('section', ['parameter_defaults', 'resource_registry', 'encrypted_param_names'])
def test_environments_of_patches_do_not_add_up_beyond_the_limit(section):
    first, second = ({f'{letter}{number}': 'x' for number in range(60)} for letter in 'AB')
    if section == 'encrypted_param_names':
        first, second = list(first), list(second)
    limits = Limits(max_expansion=100)
    with pytest.raises(exception.RequestLimitExceeded, match='environment of the stack.*max_template_expansion'):
        patched({section: first}, {section: second}, limits)
    assert len(patched({section: first}, {section: first}, limits).document()[section]) in (60, 61)
    assert patched({section: first}, {section: second}, limits, is_planned=True)


def test_an_environment_that_is_too_large_already_can_be_changed():
    stored = Environment({'parameter_defaults': {f'a{number}': 'x' for number in range(200)}}).document()
    sent = {'parameter_defaults': {'a0': 'y'}}
    assert patched(stored, sent, Limits(max_expansion=100)).parameter_defaults['a0'] == 'y'
