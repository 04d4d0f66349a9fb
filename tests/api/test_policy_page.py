"""The page for operators says what the rules, routes and query keys are."""

from heatlite.api import openapi, routes
from heatlite.api.query_keys import QUERY_KEYS, Reach
from heatlite.common import policy
from tools import policy_docs

RULES = {name: check for name, check, _before, _text in policy.RULES}


def test_the_page_is_current():
    text = policy_docs.PAGE.read_text()
    assert {found[2] for found in policy_docs.PART.finditer(text)} == set(policy_docs.PARTS)
    assert policy_docs.current(text) == text, 'run tools/policy_docs.py'


def test_every_route_has_a_rule():
    for route in routes.TABLE:
        assert set(policy_docs.rules_of(route)) <= set(RULES), route


def test_a_key_that_reaches_all_projects_has_a_rule_that_allows_nobody():
    widening = {name: each for keys in QUERY_KEYS.values() for name, each in keys.items() if each.reach is Reach.ALL}
    assert widening
    assert {RULES[each.rule] for each in widening.values()} == {policy.NOBODY}


def test_keys_belong_to_handlers():
    assert set(QUERY_KEYS) <= {openapi.name_of(route) for route in routes.TABLE}


def test_a_reader_writes_only_where_the_page_says_so():
    """Requests that change something are POST, PUT, PATCH and DELETE; some of them only read."""
    reading = {'stacks:preview', 'stacks:lookup'}
    writing = {rule for route in routes.TABLE if route.method != 'GET' for rule in policy_docs.rules_of(route)
               if RULES[rule] in (policy.READER, policy.READER_OR_STACK_USER)}
    assert writing - reading == set(policy_docs.WRITTEN_BY_READERS)
