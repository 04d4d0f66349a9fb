"""AWS's classic template of a group behind a load balancer: its servers push their load with the real cfn-push-stats.

Nobody runs in the servers of the simulated cloud. For each one, a file system with what cloud-init and Nova write there
executes the script in its UserData, and then the command that this puts into the crontab, with a made-up load.
"""

from __future__ import annotations

import base64
import email
import json
import re
import shlex

import pytest

from tests.foreign import guest, relay
from tests.system import identities, production
from tests.system.processes import ROOT, eventually
from tests.system.scaling import asked, cooled_down, outputs, resizes, served, servers

COOLDOWN = 12
HIGH, LOW = 95, 5
SCRIPT = 'cfn-userdata'                     # of the user
CONFIGURATION = '/var/lib/heat-cfntools/'
USER_DATA = 'OS-EXT-SRV-ATTR:user_data'


@pytest.fixture(scope='module')
def cloud(venvs, tmp_path_factory):
    if not guest.is_possible(tmp_path_factory.mktemp('probe')):
        pytest.skip('no namespaces for mounts: unshare --mount --map-root-user')
    with production.Production(tmp_path_factory.mktemp('scaling'), identity=identities.Simulated,
                               alarms__delay='0.5', alarms__tick='0.2') as found:
        yield found


def parts(cloud, server):
    """{name: text} of the user data of a server."""
    shown = cloud.people['admin'].session.get(
        f"/servers/{server['id']}", endpoint_filter={'service_type': 'compute', 'interface': 'public'},
        microversion='2.3').json()['server']
    message = email.message_from_bytes(base64.b64decode(shown[USER_DATA]))
    return {each.get_filename(): each.get_payload(decode=True).decode() for each in message.walk()
            if each.get_filename()}


class Servers:
    """The members of the group, from inside. `address`: where port 8003 is the CloudWatch API."""

    def __init__(self, cloud, person, programs, address, folder):
        self.cloud, self.person, self.programs = cloud, person, programs
        self.address, self.folder = address, folder
        self.guests = {}

    def push(self, load):
        """Each server does what its crontab says."""
        for server in servers(self.person):
            inside = self.guests.get(server['id']) or self.boot(server)
            command = re.search('cfn-push-stats .*', inside.read('/etc/cron.d/load'))[0]
            made_up = f'--metric CPUUtilization --units Percent --value {load}'
            assert '--cpu-util' in command
            words = shlex.split(command.replace('--cpu-util', made_up))
            inside.run(self.programs / words[0], *words[1:])

    def boot(self, server):
        inside = self.guests[server['id']] = guest.Guest(self.folder / server['id'])
        found = parts(self.cloud, server)
        for name in [each for each in found if each.startswith('cfn-') and each != SCRIPT]:
            inside.write(CONFIGURATION + name, re.sub(
                '(?m)^(cloudwatch_region_endpoint = ).*', rf'\g<1>{self.address}', found[name]))
        inside.write(f'{CONFIGURATION}nova_meta.json', json.dumps({'uuid': server['id'], 'meta': server['metadata']}))
        inside.write('/var/lib/script', found[SCRIPT])
        inside.run('sh', '-c', 'mkdir -p /etc/cron.d; exec sh /var/lib/script')
        return inside


def test_servers_push_their_load(cloud, venvs, tmp_path):
    """It grows, an engine is killed, it shrinks; the load balancer serves who is there."""
    person = cloud.people['demo']
    [subnet] = asked(person, 'network', '/v2.0/subnets?name=private-subnet')['subnets']
    path = cloud.create(person, 'shop', (ROOT / 'examples/autoscaling-cfn.yaml').read_text(), parameters={
        'Period': 10, 'Cooldown': COOLDOWN, 'Subnet': subnet['id']})
    assert cloud.finished(person, path) == 'CREATE_COMPLETE'
    assert outputs(cloud, person, path)['Group']
    with relay.relayed(8003, cloud.cloudwatch_port) as address:
        inside = Servers(cloud, person, venvs / 'cfntools/bin', address, tmp_path)

        def reaches(number, load):
            inside.push(load)
            found = {address['addr'] for server in servers(person) for each in server['addresses'].values()
                     for address in each}
            return len(found) == number and found == served(person)

        eventually('a second server', lambda: reaches(2, HIGH))
        cloud.engines[0].kill()
        eventually('a third server', lambda: reaches(3, HIGH))
        cloud.start_engine()
        eventually('two servers', lambda: reaches(2, LOW))
        eventually('one server', lambda: reaches(1, LOW))
    assert cooled_down(resizes(cloud, person, path, 'Group'), COOLDOWN)
    cloud.ask(person, 'DELETE', path)
    assert cloud.finished(person, path) == 'DELETE_COMPLETE'
