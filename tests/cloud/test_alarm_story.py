"""Aodh keeps the alarm of a stack, and the action that it keeps scales a group. Aodh evaluates Prometheus alarms only
beside a Prometheus: the test sends what its notifier sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.cloud import clouds, deployment
from tests.cloud.conftest import CLOUD

NOTICE = {'severity': 'low', 'alarm_name': 'busy', 'previous': 'ok', 'current': 'alarm', 'reason': 'high',
          'reason_data': {'type': 'threshold', 'disposition': 'outside', 'count': 1, 'most_recent': 90.0}}


def template(names: dict[str, Any]) -> dict[str, Any]:
    return {'heat_template_version': '2018-08-31', 'resources': {
        'net': {'type': 'OS::Neutron::Net'},
        'subnet': {'type': 'OS::Neutron::Subnet', 'properties': {
            'network': {'get_resource': 'net'}, 'cidr': '10.191.0.0/24'}},
        'group': {'type': 'OS::Heat::AutoScalingGroup', 'depends_on': 'subnet', 'properties': {
            'min_size': 1, 'max_size': 2, 'resource': {'type': 'OS::Nova::Server', 'properties': {
                'image': names['image'], 'flavor': names['flavor'],
                'networks': [{'network': {'get_resource': 'net'}}]}}}},
        'up': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
            'auto_scaling_group_id': {'get_resource': 'group'}, 'adjustment_type': 'change_in_capacity',
            'scaling_adjustment': 1, 'cooldown': 600}},
        'busy': {'type': 'OS::Aodh::PrometheusAlarm', 'properties': {
            'query': 'avg(load)', 'threshold': 80, 'comparison_operator': 'gt',
            'alarm_actions': [{'get_attr': ['up', 'signal_url']}]}}}}


def test_an_action_that_aodh_keeps_scales_a_group(tmp_path: Path) -> None:
    with clouds.of(CLOUD, tmp_path) as cloud:
        if 'alarm' not in cloud.abilities:
            pytest.skip(f'the cloud {cloud.name} has no alarm')
        with cloud.furnished() as names, deployment.running(cloud, tmp_path) as heatlite:
            stack = heatlite.create('scaled', template(names))
            assert heatlite.settled(stack) == 'CREATE_COMPLETE', heatlite.why(stack)
            if heatlite.resource(stack, 'up', ('signal_url',))['attributes']['signal_url'] is None:
                heatlite.delete(stack)
                pytest.skip(f'the catalogue of {cloud.name} has no orchestration service')
            before = servers(cloud)
            kept = cloud.get('alarm', f"/alarms/{heatlite.resource(stack, 'busy')['physical_resource_id']}")
            [action] = kept['alarm_actions']
            here = urlsplit(action)._replace(netloc=urlsplit(heatlite.url).netloc)      # not where the catalogue says
            for _repeated in range(2):              # within the cooldown, only the first one counts
                answer = requests.post(here.geturl(), json={**NOTICE, 'alarm_id': kept['alarm_id']}, timeout=60)
                assert answer.status_code in (200, 204), answer.text
            deployment.eventually('the second server', lambda: len(servers(cloud)) == len(before) + 1)
            assert heatlite.settled(stack).endswith('COMPLETE'), heatlite.why(stack)
            assert heatlite.delete(stack) == deployment.GONE
            assert not before & servers(cloud)


def servers(cloud: clouds.Cloud) -> set[str]:
    """Ids of the servers in the cloud."""
    return {each['id'] for each in cloud.get('compute', '/servers')['servers']}
