"""What an update takes from the stored definition of its stack."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.limits import MOST_FILES, MOST_TEXT_OF_FILES
from heatlite.common.template_files import Files
from heatlite.db.templates import StoredTemplate
from heatlite.engine.requests import sources
from heatlite.rpc import messages


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
