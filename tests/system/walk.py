"""The walk through plans in docs/users/plans.rst: commands on the production profile, and what they print.

    python -m tests.system.walk             records it anew, in the page

`tests/system/test_walk.py` runs it and compares.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.system import identities, production
from tests.system.openstack_shell import Shell
from tests.system.processes import OPENER, ROOT, eventually

PAGE = ROOT / 'docs/users/plans.rst'
BEGIN, END = '.. The walk begins: python -m tests.system.walk writes it.\n', '.. The walk ends.\n'
RULES = """\
rules:
- name: no-public-addresses
  when: change.action in ['create', 'replace'] && change.type == 'OS::Neutron::FloatingIP'
  effect: deny
  reason: Public addresses are given out by the network team
"""
FILES = {
    'web.yaml': """\
heat_template_version: 2018-08-31
parameters:
  label: {type: string, default: web}
resources:
  network:
    type: OS::Neutron::Net
    properties: {name: {get_param: label}}
  disk:
    type: OS::Cinder::Volume
    properties: {size: 1}
""",
    'public.yaml': """\
heat_template_version: 2018-08-31
resources:
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public}
"""}
STAYS = {'kind': 'stay', 'service': 'volume', 'method': 'POST', 'path': '*/volumes', 'count': 0}

# What stands before the commands; then each command, with {plan} for the newest plan. Lines that begin with `bob$` are
# typed by another user of the project, those with `#` are done without being shown.
STEPS = """
The operator wants plans to be approved by a user other than their author, and denies public addresses by a `policy
<../operators/plan-policies.rst>`_. ``web.yaml`` has a network and a disk. Ann plans, Bob reviews and approves, and the
plan is applied:

$ openstack stack plan create -t web.yaml web
$ openstack stack plan apply {plan}
bob$ openstack stack plan show {plan}
bob$ openstack stack plan approve {plan}
$ openstack stack plan apply {plan}
$ openstack stack wait --quiet web

Ann plans an update. Meanwhile Bob changes the stack; her plan is refused, with what has changed:

$ openstack stack plan create --existing --parameter label=shop web
bob$ openstack stack plan approve {plan}
bob$ openstack stack update --existing --parameter label=store web -f value -c stack_name
$ openstack stack wait --quiet web
$ openstack stack plan apply {plan}

A plan with a public address can be made and looked at, and not applied:

$ openstack stack plan create -t public.yaml public
bob$ openstack stack plan approve {plan}
$ openstack stack plan apply {plan}

What Bob's update changed, and the way back:

$ openstack stack revision list web
$ openstack stack revision diff web 2
$ openstack stack plan create --revision 1 web
bob$ openstack stack plan approve {plan}
$ openstack stack plan apply {plan}
$ openstack stack wait --quiet web

Another stack hangs, as the volume service never finishes a volume:

#stays
$ openstack stack plan create -t web.yaml slow
bob$ openstack stack plan approve {plan}
$ openstack stack plan apply {plan}
#waits
$ openstack stack explain slow
"""


def walk(folder: Path) -> Iterator[str]:
    """Yield the lines of the walk, as they stand in the page."""
    rules = folder / 'rules.yaml'
    rules.write_text(RULES)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with production.Production(folder / 'cloud', engines=1, identity=identities.Simulated, plans__needs_approval=True,
                               plans__check_timeout=5, plan_policies__rules_file=rules) as cloud:
        who = cloud.people['demo'].environment(cloud.region)
        ann, bob = Shell(who, folder), Shell({**who, 'OS_USERNAME': _bob(cloud)}, folder)
        try:
            yield from _lines(cloud, ann, bob)
        finally:
            ann.close()
            bob.close()


def _bob(cloud: production.Production) -> str:
    """Make another member of the project of `demo`; return the name."""
    made = cloud.keystone.post('/users', json={'user': {
        'name': 'bob', 'domain_id': 'default', 'password': identities.PASSWORD}}).json()['user']
    role = next(each['id'] for each in cloud.keystone.get('/roles').json()['roles'] if each['name'] == 'member')
    cloud.keystone.put(f"/projects/{cloud.people['demo'].project_id}/users/{made['id']}/roles/{role}")
    return str(made['name'])


def _lines(cloud: production.Production, ann: Shell, bob: Shell) -> Iterator[str]:
    plan = ''
    hidden: dict[str, Callable[[], object]] = {
        '#stays': lambda: _fault(cloud), '#waits': lambda: _waits(cloud)}
    for line in STEPS.strip().splitlines():
        if line in hidden:
            hidden[line]()
            continue
        prompt, _, command = line.partition('$ ')
        if not command or prompt not in ('', 'bob'):
            yield line + ':' if line.endswith(':') else line
            continue
        command = command.format(plan=plan)
        code, said, complained = (bob if prompt else ann).run(shlex.split(command)[1:])
        assert code in (0, 2) or complained, f'{command}: {code} {said} {complained}'
        found = re.search(r'^Plan (\S+) \(', said, re.MULTILINE)
        plan = found[1] if found is not None and 'create' in command else plan
        yield f'    {prompt}$ {command}'
        yield from (f'    {each}'.rstrip() for each in (said + complained).rstrip('\n').splitlines())


def _fault(cloud: production.Production) -> None:
    url = cloud.identity.url.removesuffix('/v3').rpartition('/identity')[0] or cloud.identity.url.removesuffix('/v3')
    OPENER.open(urllib.request.Request(f'{url}/_sim/faults', json.dumps(STAYS).encode(), {
        'Content-Type': 'application/json'}), timeout=60).close()


def _waits(cloud: production.Production) -> None:
    ann = cloud.people['demo']
    found, = (each for each in cloud.ask(ann, 'GET', '/stacks').json['stacks'] if each['stack_name'] == 'slow')
    cloud.resource_complete(ann, f"/stacks/slow/{found['id']}", 'network')
    eventually('a volume', lambda: cloud.ask(
        ann, 'GET', f"/stacks/slow/{found['id']}/resources/disk").json['resource']['physical_resource_id'])


# What differs from one run to the next -> what stands for it.
VARIABLE = tuple((re.compile(pattern), text) for pattern, text in (
    (r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'ID'),
    (r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', 'TIME'), (r'digest [0-9a-f]+', 'digest DIGEST'),
    (r'\b[0-9]+(\.[0-9]+)? s\b', 'N s')))


def without_variables(text: str) -> str:
    """Return a recorded walk without what differs from one run to the next."""
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    return text


def recorded() -> str:
    """The walk in the page."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for line in walk(Path(folder)):
            print(line, flush=True)
            lines.append(line)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    if not rest:
        sys.exit(f'{PAGE} has no place for the walk')
    PAGE.write_text(before + BEGIN + '\n' + '\n'.join(lines).strip() + '\n\n' + END + after)


if __name__ == '__main__':
    main()
