"""Keeps the generated parts of docs/operators/policy.rst true.

    tools/policy_docs.py [--check]

A part begins with the comment `.. generated: NAME` and ends with `.. end`. The parts are made from the rules
(heatlite/common/policy.py), the routes (heatlite/api/routes.py), the query keys (heatlite/api/query_keys.py) and the
actions of the CFN and CloudWatch APIs. With --check nothing is written; the exit code is 1 when the page is not
current.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from heatlite.api import openapi, routes
from heatlite.api.cfn import application
from heatlite.api.cloudwatch import application as cloudwatch
from heatlite.api.handlers import actions, guards
from heatlite.api.handlers import stacks as stack_handlers
from heatlite.api.query_keys import QUERY_KEYS, Reach
from heatlite.common import policy

PAGE = pathlib.Path(__file__).resolve().parents[1] / 'docs' / 'operators' / 'policy.rst'
PART = re.compile(r'(^\.\. generated: (\w+)\n)(.*?)(^\.\. end\n)', re.M | re.S)
WHO = {policy.READER: 'reader', policy.MEMBER: 'member', policy.ADMIN: 'admin',
       policy.READER_OR_STACK_USER: 'reader, stack user', policy.MEMBER_OR_STACK_USER: 'member, stack user',
       policy.NOBODY: 'nobody',
       'rule:stacks:update_patch': 'member'}
# Rules whose requests have several policies: handler of the policy -> rules.
SEVERAL: Mapping[Callable[..., str], tuple[str, ...]] = {
    actions.policy: tuple(f'actions:{name}' for name in actions.ACTIONS),
    stack_handlers.patch_policy: ('stacks:update_patch', 'stacks:update_no_change')}
# Rules of requests that change something, though the default lets readers make them.
WRITTEN_BY_READERS = {
    'actions:check': 'sets the state of the stack and of its resources to what the cloud says',
    'resource:signal': 'scales groups, ends wait conditions, releases breakpoints, reports deployments'}


def rules_of(route: routes.Route) -> tuple[str, ...]:
    return (route.policy,) if isinstance(route.policy, str) else SEVERAL[route.policy]


def requests() -> dict[str, list[str]]:
    """Rule -> the requests that ask it."""
    found: dict[str, list[str]] = {}
    for route in routes.TABLE:
        for rule in rules_of(route):
            if route.handler is stack_handlers.lookup:
                line = 'all lookups by name or ARN'
            else:
                line = f'``{route.method} {route.path.removeprefix(routes.P) or "/"}``'
            if line not in found.setdefault(rule, []):
                found[rule].append(line)
    for action in application.ACTIONS:
        found[f'cloudformation:{action}'] = [f'``Action={action}``']
    for action in cloudwatch.ACTIONS:
        found[f'cloudwatch:{action}'] = [f'``Action={action}`` of the CloudWatch API']
    for method, kind in application.SIGNALS:
        found['resource:signal'].append(f'``{method} /v1/{kind}/{{arn}}`` of the CFN API')
    found[guards.UNLOCK_ANY] = [f'{found["stacks:unlock"][0]} of another user']
    found[guards.UNPROTECT].append(f'{found["stacks:protect"][-1]} with "remove"')
    for handler, keys in QUERY_KEYS.items():
        for key, each in keys.items():
            if each.rule is not None:
                path = next(route.path for route in routes.TABLE if openapi.name_of(route) == handler)
                found.setdefault(each.rule, []).append(f'``{path.removeprefix(routes.P)}?{key}=true``')
    return found


def rules_part() -> str:
    asked = requests()
    rows = [(f'``{name}``', WHO[check] + (' (writes)' if name in WRITTEN_BY_READERS else ''),
             ', '.join(asked.get(name, ['none'])), text) for name, check, _before, text in policy.RULES]
    return table(('Rule', 'Default', 'Requests', 'Allows to'), rows)


def keys_part() -> str:
    rows = []
    for handler, keys in QUERY_KEYS.items():
        for key, each in keys.items():
            if each.reach is not Reach.WITHIN:
                rows.append((f'``{handler}``', f'``{key}``', each.reach.value, f'``{each.rule}``' if each.rule else ''))
    return table(('Request', 'Key', 'Effect', 'Rule'), rows)


def writes_part() -> str:
    return table(('Rule', 'Effect'), [(f'``{name}``', text) for name, text in WRITTEN_BY_READERS.items()])


def types_part() -> str:
    return table(('Type', 'Default'), [(f'``{name}``', 'admin') for name in policy.ADMIN_TYPES])


PARTS = {'rules': rules_part, 'keys': keys_part, 'writes': writes_part, 'types': types_part}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for row in (head, *rows):
        lines += [f'   {"* -" if number == 0 else "  -"} {cell}'.rstrip() for number, cell in enumerate(row)]
    return '\n'.join(['', *lines, '', ''])


def current(text: str) -> str:
    """The page with its parts as they should be."""
    return PART.sub(lambda found: found[1] + PARTS[found[2]]() + found[4], text)


def main(arguments: Sequence[str]) -> int:
    before = PAGE.read_text()
    after = current(before)
    if '--check' not in arguments:
        PAGE.write_text(after)
        return 0
    if before != after:
        print(f'{PAGE} is not current: run tools/policy_docs.py', file=sys.stderr)
    return int(before != after)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
