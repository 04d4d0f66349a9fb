"""Every described type through its life: made, read, left alone, updated, deleted, deleted again."""

from __future__ import annotations

import contextlib
import json

import pytest
from keystoneauth1.exceptions import http as http_errors

from heatlite.common import exception
from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import applied_names, types, verify
from tests.plugins.rest import samples

EVERY = sorted(types.files())


def make(cloud, bench, name):
    """A bench whose cloud has everything in the state for which the type waits."""
    for path, said in samples.THERE.items():
        cloud.seed(path, **said)
    stand_ready(cloud, name, 'create')
    return bench(name, samples.required(name, packed.facts(name)))


def stand_ready(cloud, name, action):
    wait = types.description_of(name).waits.get(action)
    if wait is not None:
        status = 'ACTIVE' if wait.ready == 'other' else wait.ready[0]
        first, *rest = wait.field.split('.')
        cloud.born[first] = [{'id': 'known-instance', rest[-1]: status}] if rest else status
        for thing in cloud.things.values():
            thing.update(cloud.born)


@pytest.mark.parametrize('name', EVERY)
def test_description_and_facts_agree(name):
    assert list(verify.diagnostics(types.description_of(name), packed.facts(name))) == []


@pytest.mark.parametrize('name', EVERY)
def test_life(cloud, bench, name):
    here = make(cloud, bench, name)
    assert here.validate() is None
    made = here.create()
    assert made.resource_id and made.get_reference_id()
    for attribute in made.attributes_schema:
        json.dumps(made.FnGetAtt(attribute))
    before = len(here.memory.written), len(cloud.said())
    assert here.update(samples.required(name, packed.facts(name))) is None
    assert (len(here.memory.written), len(cloud.said())) == before, 'nothing changed, so nothing is done'
    here.run('DELETE')
    assert not [path for path in cloud.things
                if path.rpartition('/')[2] == str(made.resource_id) and path not in samples.THERE]
    here.run('DELETE')


@pytest.mark.parametrize('name', EVERY)
def test_every_property_that_may_change_does(cloud, bench, name):
    """Each alone: it is sent somewhere, or the resource is replaced."""
    facts = packed.facts(name)
    here = make(cloud, bench, name)
    here.create()
    stand_ready(cloud, name, 'update')
    given = samples.required(name, facts)
    for key, body in facts.get('properties', {}).items():
        if not body.get('update_allowed') or samples.hidden(body) or (name, key) in TOGETHER:
            continue
        asked = len(cloud.requests)
        wanted = {**given, key: samples.another(key, body, given.get(key))}
        try:
            changed = here.update(wanted)
        except exception.UpdateReplace:
            continue
        assert changed and set(changed) == {key}, key
        assert len(cloud.requests) > asked, f'{key} changes nothing'
        given = wanted


@pytest.mark.parametrize('name', EVERY)
def test_a_name_that_leads_nowhere_does_not_say_that_the_object_is_gone(cloud, bench, name):
    """What a definition names may be deleted or renamed while the object is there: EntityNotFound would replace it."""
    here = make(cloud, bench, name)
    made = here.create()
    named = {rule.translation_path[0] for rule in made.translation_rules(made.properties) if rule.rule == 'Resolve'}
    lost = {key: value.replace('known', 'lost') if isinstance(value, str) and key in named else value
            for key, value in samples.required(name, packed.facts(name)).items()}
    here.record.properties = lost
    here.record.data.pop(applied_names.DATA_KEY, None)
    here.definition = here.define(lost)
    old = here.fresh('CREATE', 'COMPLETE')
    with contextlib.suppress(exception.ObjectUncomparable):
        old.observe(old.compare(here.define(lost)))
    assert not old.observed.is_gone


# Properties that mean nothing alone, or whose change is refused by design.
TOGETHER = {('OS::Designate::Zone', 'masters'), ('OS::Designate::Zone', 'primaries'),
            ('OS::Neutron::FloatingIP', 'dns_name'), ('OS::Neutron::FloatingIP', 'dns_domain')}


# Shown without a 404 by this service: limits that are always there, and parts of another thing.
ALWAYS_SHOWN = {
    'OS::Cinder::EncryptedVolumeType', 'OS::Cinder::Quota', 'OS::Mistral::CronTrigger', 'OS::Neutron::ExtraRoute',
    'OS::Neutron::ExtraRouteSet', 'OS::Neutron::FloatingIPAssociation', 'OS::Neutron::Quota',
    'OS::Neutron::RouterGateway', 'OS::Neutron::RouterInterface', 'OS::Nova::FloatingIPAssociation',
    'OS::Nova::KeyPair', 'OS::Nova::Quota', 'OS::Octavia::AvailabilityZone', 'OS::Octavia::Quota',
    'OS::Swift::Container', 'OS::Zaqar::Queue'}
CHECKED = [name for name in EVERY if types.description_of(name).show is not None and name not in ALWAYS_SHOWN]


@pytest.mark.parametrize('name', CHECKED)
def test_a_check_finds_what_is_gone(cloud, bench, name):
    """Whatever can be shown is looked for."""
    here = make(cloud, bench, name)
    here.create()
    here.run('CHECK')
    cloud.things.clear()
    with pytest.raises((exception.EntityNotFound, http_errors.NotFound)):
        here.run('CHECK')
