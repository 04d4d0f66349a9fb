"""A group of servers in the simulated cloud, seen from outside: its members, what is served, when it was resized."""

from __future__ import annotations

import datetime
import itertools


def outputs(cloud, person, path):
    """{name: value}"""
    found = cloud.ask(person, 'GET', path).json['stack']['outputs']
    return {each['output_key']: each.get('output_value') for each in found}


def members(cloud, person, path, group):
    """Names of the members that are there."""
    found = cloud.ask(person, 'GET', f'{path}/resources?nested_depth=1').json['resources']
    return {each['resource_name'] for each in found if each.get('parent_resource') == group
            and each['resource_status'] in ('CREATE_COMPLETE', 'UPDATE_COMPLETE')}


def asked(person, service, path):
    """JSON of a service of the cloud."""
    return person.session.get(path, endpoint_filter={'service_type': service, 'interface': 'public'}).json()


def servers(person):
    return asked(person, 'compute', '/servers/detail')['servers']


def served(person):
    """The addresses of the members of the load balancer."""
    [pool] = asked(person, 'load-balancer', '/v2/lbaas/pools')['pools']
    return {each['address'] for each in asked(
        person, 'load-balancer', f"/v2/lbaas/pools/{pool['id']}/members")['members']}


def resizes(cloud, person, path, group):
    """When the group began to get another size, from the events of its nested stack."""
    nested = next(each for each in cloud.ask(person, 'GET', f'{path}/resources').json['resources']
                  if each['resource_name'] == group)['physical_resource_id']
    found = cloud.rows('SELECT resource_name, created_at, action, status, resource_id FROM event '
                       f"WHERE stack_id = '{nested}' ORDER BY id")
    return [at for _name, at, action, status, row in found
            if row is None and (action, status) == ('UPDATE', 'IN_PROGRESS')]


def cooled_down(times, cooldown):
    """Whether so many seconds are between any two."""
    return all(later - earlier >= datetime.timedelta(seconds=cooldown - 1)
               for earlier, later in itertools.pairwise(times))
