"""Every property, inner property, part of an update policy and attribute of every type has a text for its users."""

from __future__ import annotations

import collections
import re

import pytest

from heatlite.engine.resources import packed
from heatlite.engine.resources.catalogue import texts
from heatlite.engine.resources.rest import types as rest_types

LONGEST = 330                               # characters: two sentences, or three short ones
SHORTEST = 2                                # words
LEAST = 1925                                # texts, of 204 types; more when types or properties are added


def described():
    return [(name, member, body['description']) for name in packed.names()
            for member, body in texts.members(packed.facts(name)) if 'description' in body]


@pytest.mark.parametrize('name', sorted(packed.names()))
def test_nothing_is_without_a_text(name):
    assert texts.missing(packed.facts(name)) == []


def test_there_are_as_many_as_before():
    assert len(described()) >= LEAST


def test_a_text_says_more_than_the_name():
    found = []
    for name, (section, path), text in described():
        said = re.sub(r'\W+', ' ', re.sub(r'^(The|A|An) ', '', text)).strip().lower()
        if said == path.rpartition('.')[2].replace('_', ' ').lower() and section != 'attributes':
            found.append(f'{name} {path}: {text}')
    assert found == []


def test_texts_are_sentences_of_a_fair_length():
    assert [(name, path, text) for name, (_section, path), text in described()
            if not (text[0].isupper() or not text[0].isalpha()) or '  ' in text or '\n' in text
            or len(text) > LONGEST or len(text.split()) < SHORTEST] == []


def test_what_is_refused_says_so():
    """A property that is not implemented has no effect to describe."""
    assert [(name, path, body['description']) for name in packed.names()
            for (_section, path), body in texts.members(packed.facts(name))
            if not body.get('implemented', True) and 'refused' not in body['description']] == []


def test_what_is_required_is_not_left_out():
    assert [(name, path, body['description']) for name in packed.names()
            for (_section, path), body in texts.members(packed.facts(name))
            if body.get('required') and 'left out' in body['description']] == []


def test_what_an_update_does_is_said_of_what_can_be_updated():
    found = []
    for name in packed.names():
        facts = packed.facts(name)
        found += [f'{name} {path}' for (section, path), body in texts.members(facts)
                  if section == 'properties' and 'An update ' in body['description']
                  and not facts[section][path.partition('.')[0]].get('update_allowed')]
    assert found == []


def test_one_sentence_is_not_written_for_many_types():
    """What many types share stands in an entry for all of them, or in a word."""
    written = collections.Counter(
        text for path in texts.FOLDER.glob('*.yaml') for entry in texts.entries(path) for text in entry.texts.values())
    assert [(text, times) for text, times in written.items() if times > 4 and len(text) > 40] == []


# Names that the class of the type, or the service itself, resolves; and former properties, for which another stands.
RESOLVED_ELSEWHERE = {
    'AWS::AutoScaling::LaunchConfiguration': {'ImageId', 'InstanceType', 'SecurityGroups'},
    'AWS::EC2::Instance': {'ImageId', 'InstanceType', 'SecurityGroups'},
    'AWS::EC2::NetworkInterface': {'GroupSet'}, 'AWS::ElasticLoadBalancing::LoadBalancer': {'SecurityGroups'},
    'AWS::RDS::DBInstance': {'DBInstanceClass'},
    'OS::Cinder::Volume': {'image', 'imageRef', 'volume_type'},
    'OS::Magnum::BayModel': {'external_network', 'fixed_network', 'fixed_subnet', 'flavor', 'image', 'master_flavor'},
    'OS::Magnum::ClusterTemplate': {'flavor', 'image', 'master_flavor'},
    'OS::Neutron::FloatingIP': {'floating_network_id'}, 'OS::Neutron::NetworkGateway': {'connections.network_id'},
    'OS::Neutron::Port': {'fixed_ips.subnet_id', 'network_id', 'qos_policy', 'security_groups'},
    'OS::Neutron::RouterGateway': {'network_id'}, 'OS::Neutron::RouterInterface': {'port_id', 'router_id', 'subnet_id'},
    'OS::Neutron::SecurityGroup': {'rules.remote_group_id'}, 'OS::Neutron::Subnet': {'network_id'},
    'OS::Neutron::VPNService': {'router_id', 'subnet_id'},
    'OS::Nova::Server': {'block_device_mapping_v2.image_id', 'networks.uuid', 'security_groups',
                         'networks.port_extra_properties.qos_policy'},
    'OS::Trove::Instance': {'networks.network', 'networks.port'},
    'OS::Zun::Container': {'mounts.volume_id', 'security_groups'}}


@pytest.mark.parametrize('name', sorted(packed.names()))
def test_a_property_that_takes_a_name_is_resolved(name):
    """A text that says "by name or id" of a property whose value is sent as it is would be wrong."""
    facts = packed.facts(name)
    resolved = {'.'.join(rule['path']) for rule in facts.get('translation_rules', ()) if rule['rule'] == 'resolve'}
    if name in rest_types.files():
        resolved |= {path.replace('.*', '') for path in rest_types.description_of(name).find}
    claimed = {path for (section, path), body in texts.members(facts)
               if section == 'properties' and 'by name or id' in body['description']}
    assert claimed - resolved == RESOLVED_ELSEWHERE.get(name, set())
