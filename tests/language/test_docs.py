"""What the pages for users show is what the program does."""

import pytest

from heatlite.language import versions
from tools import language_docs


@pytest.mark.parametrize('page', language_docs.PAGES, ids=lambda page: page.name)
def test_generated_parts_are_current(page):
    text = page.read_text()
    assert language_docs.PART.search(text)
    assert language_docs.current(text) == text, 'run tools/language_docs.py'


def test_every_function_is_told_of_and_its_example_gives_something():
    told, table = language_docs.told(), language_docs.known()
    names = {row.name for row in (*versions.FUNCTIONS, *versions.CONDITION_FUNCTIONS)}
    assert told.keys() == table.keys() == names
    failing = [name for name, entry in told.items() if language_docs.result(entry, table[name].newest)[1]]
    assert failing == ['str_replace_strict', 'str_replace_vstrict']      # these are there to fail


def test_an_example_calls_its_function():
    for name, entry in language_docs.told().items():
        text = language_docs.example(entry, language_docs.known()[name].newest)
        assert f'{name}:' in text or f'"{name}":' in text or any(name in file for file in entry['files'].values())


def test_a_page_that_is_not_current_is_found():
    page = '.. generated: functions\n\nold\n\n.. end\n'
    assert language_docs.current(page) != page
    assert language_docs.current(language_docs.current(page)) == language_docs.current(page)
    with pytest.raises(KeyError):
        language_docs.current('.. generated: nothing\n.. end\n')


def test_broken_templates_are_broken():
    exit_codes = {path.name: language_docs.linted(path)[1] for path in language_docs.BROKEN.glob('*.yaml')}
    assert len(exit_codes) >= 10
    # Warnings alone are no failure.
    assert {name for name, exit_code in exit_codes.items() if exit_code == 0} == {
        '06-function-of-a-newer-version.yaml', '12-hardly-meant.yaml'}
