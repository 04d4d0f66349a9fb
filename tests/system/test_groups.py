"""Groups whose members belong to a service, on the production profile with a simulated cloud."""

import pytest

from tests.system import identities, production

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)


def group(count):
    return {'heat_template_version': '2018-08-31', 'resources': {'group': {
        'type': 'OS::Heat::ResourceGroup',
        'properties': {'count': count, 'resource_def': {'type': 'OS::Neutron::Net'}}}}}


@pytest.mark.service
def test_an_update_acts_as_the_owner_of_the_stack(tmp_path):
    """The check of the changed nested stack looks for the service with the credentials of the stack."""
    with production.Production(tmp_path, engines=1, identity=identities.Simulated) as cloud:
        member = cloud.people['demo']
        answer = cloud.ask(member, 'POST', '/stacks', {'stack_name': 'nets', 'template': group(1)})
        path = f'/stacks/nets/{answer.json["stack"]["id"]}'
        assert cloud.finished(member, path) == 'CREATE_COMPLETE'
        assert cloud.ask(member, 'PUT', path, {'template': group(2)}).status == 202
        assert cloud.finished(member, path) == 'UPDATE_COMPLETE'
