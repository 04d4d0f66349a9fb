"""Each rule has a wrong and a right example in the docs, and both are what they claim to be."""

import pytest

from heatlite.authoring import checking
from heatlite.language import rules
from tools import language_docs

ENTRIES = language_docs.rule_entries()


def test_the_table_has_each_rule_once_in_order():
    ids = [rule.id for rule in rules.TABLE]
    assert ids == sorted(set(ids)) == list(ENTRIES)


@pytest.mark.parametrize('side', ['wrong', 'right'])
@pytest.mark.parametrize('rule', ENTRIES)
def test_an_example_is_what_it_claims(tmp_path, monkeypatch, rule, side):
    monkeypatch.chdir(tmp_path)
    entry = ENTRIES[rule]
    for name, text in (entry.get('files') or {}).items():
        (tmp_path / name).write_text(text)
    (tmp_path / 'main.yaml').write_text(language_docs.rule_template(entry[side]))
    environments = []
    if 'environment' in entry:
        (tmp_path / 'env.yaml').write_text(entry['environment'][side])
        environments = ['env.yaml']
    found = checking.check('main.yaml', environments, notes=entry.get('notes', False))
    if side == 'right':
        assert found == []
    else:
        assert rule in {each.rule for each in found}
        assert {each.level for each in found} <= {rules.BY_ID[rule].level, rules.WARNING}
