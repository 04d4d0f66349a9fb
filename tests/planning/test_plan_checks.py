"""What plans consume, what they cost, and what checks find, by tables and by properties."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.language.unknown import UNKNOWN
from heatlite.planning import checks, findings
from heatlite.planning.checks import Hold, Image, Limit
from heatlite.planning.costs import consumption, prices
from heatlite.planning.costs.consumption import Flavor, Meter, consumed, measured
from heatlite.planning.findings import FindingLevel, PlanFinding
from heatlite.planning.plan import Cause, Plan, PlanAction, PlannedChange, ValueChange

SMALL = Flavor('1', 'm1.small', 1, 2048, 20)
BIG = Flavor('2', 'm1.big', 4, 8192, 0)
FLAVORS = {'1': SMALL, 'm1.small': SMALL, '2': BIG, 'm1.big': BIG}


def server(flavor='m1.small', **properties):
    return measured('OS::Nova::Server', {'flavor': flavor, 'networks': [], **properties})


def disk(size=10, **properties):
    return measured('OS::Cinder::Volume', {'size': size, **properties})


def change(action, before=None, after=None, name='r', **more):
    return PlannedChange((name,), 'T', PlanAction(action), before=before, after=after, **more)


def amounts(what):
    return {str(meter): amount for meter, amount in consumed(what, FLAVORS).amounts.items()}


@pytest.mark.parametrize('what, counted', [
    (server(), {'instances': 1, 'vcpus': 1, 'ram_mib': 2048, 'disk_gib': 20, 'ports': 1}),
    (server('2', networks=[{'network': 'a'}, {'port': 'p'}]),
     {'instances': 1, 'vcpus': 4, 'ram_mib': 8192, 'ports': 1}),
    (server('?', networks=[{'allocate_network': 'none'}]), {'instances': 1}),
    (server('?', block_device_mapping_v2=[{'volume_size': '5'}, {'volume_id': 'v', 'volume_size': 9}, {'image': 'i'}]),
     {'instances': 1, 'volumes': 1, 'volume_gib': 5, 'ports': 1}),
    (disk('7'), {'volumes': 1, 'volume_gib': 7}),
    (disk(None), {'volumes': 1}),
    (measured('OS::Neutron::SecurityGroup', {'rules': [{}, {}]}), {'security_groups': 1, 'security_group_rules': 4}),
    (measured('OS::Neutron::FloatingIP', {}), {'floating_addresses': 1}),
    (None, {}),
])
def test_amounts(what, counted):
    assert amounts(what) == counted


@pytest.mark.parametrize('what, is_certain', [
    (server(), True), (server(UNKNOWN), False), (server('?'), False), (server(networks=[{'network': UNKNOWN}]), False),
    (server(image=UNKNOWN, availability_zone=UNKNOWN), True), (disk(), True), (disk(UNKNOWN), False),
    (disk(None), False)])
def test_what_is_not_known_is_told(what, is_certain):
    assert consumed(what, FLAVORS).is_certain is is_certain


def test_a_type_without_facts_does_not_count():
    assert measured('OS::Heat::None', {'a': 1}) is None


@pytest.mark.parametrize('action, before, after, counted', [
    ('create', None, disk(3), {'before': 0, 'after': 3, 'at_once': 3}),
    ('none', disk(3), disk(3), {'before': 3, 'after': 3, 'at_once': 3}),
    ('update', disk(3), disk(5), {'before': 3, 'after': 5, 'at_once': 5}),
    ('update', disk(5), disk(3), {'before': 5, 'after': 3, 'at_once': 5}),
    ('replace', disk(3), disk(5), {'before': 3, 'after': 5, 'at_once': 8}),
    ('delete', disk(3), None, {'before': 3, 'after': 0, 'at_once': 3}),
    ('release', disk(3), None, {'before': 3, 'after': 0, 'at_once': 3}),
    ('import', None, disk(3), {'before': 0, 'after': 3, 'at_once': 0}),
    ('unknown', disk(3), disk(9), {'before': 3, 'after': 3, 'at_once': 3}),
])
def test_totals(action, before, after, counted):
    assert consumption.totals([change(action, before, after)], {}).to_json()['volume_gib'] == counted


sizes = st.integers(0, 50)


@given(st.lists(st.tuples(st.sampled_from(['create', 'update', 'replace', 'delete', 'none']), sizes, sizes)))
def test_what_is_after_follows_from_what_is_added_and_freed(actions):
    changes = [change(action, None if action == 'create' else disk(old),
                      None if action == 'delete' else disk(old if action == 'none' else new))
               for action, old, new in actions]
    found = consumption.totals(changes, {})
    for meter in (Meter.VOLUMES, Meter.VOLUME_SIZE):
        assert found.after[meter] == (found.before[meter] + found.added[meter] - found.freed[meter]
                                      - found.replaced[meter])


@pytest.mark.parametrize('actions, limit, level', [
    ([('create', None, disk())], Limit(10, 9), None),
    ([('create', None, disk())], Limit(10, 10), 'error'),
    ([('create', None, disk())], Limit(-1, 10), None),
    ([('delete', disk(), None)], Limit(10, 10), None),
    ([('none', disk(), disk())], Limit(10, 11), None),
    ([('replace', disk(), disk())], Limit(10, 10), 'error'),
    ([('create', None, disk()), ('delete', disk(), None)], Limit(10, 10), 'warning'),
    ([('create', None, disk()), ('create', None, disk()), ('delete', disk(), None)], Limit(10, 10), 'error'),
    ([('create', None, disk()), ('release', disk(), None)], Limit(10, 10), 'error'),
])
def test_quotas(actions, limit, level):
    totals = consumption.totals([change(*each) for each in actions], {})
    found = [str(each.level) for each in checks.quotas(totals, {Meter.VOLUMES: limit})]
    assert found == ([level] if level else [])


IMAGE = Image('i', 'linux', min_disk=10, min_ram=4096)


@pytest.mark.parametrize('action, what, words', [
    ('create', server('m1.small', image='i'), ['memory']),
    ('replace', server('m1.small', image='linux'), ['memory']),
    ('none', server('m1.small', image='i'), []),
    ('update', server('m1.small', image='i'), ['memory']),
    ('update', server('m1.big', image='i'), []),
    ('create', server('m1.small', image='other'), []),
    ('create', server('m1.big', image='i'), []),        # a disk of 0 GiB is as large as the image wants it
    ('create', server('?', image='i'), []),
    ('create', server('tiny', image='i'), ['memory', 'a disk of 10 GiB']),
])
def test_images_fit(action, what, words):
    flavors = {**FLAVORS, 'tiny': Flavor('3', 'tiny', 1, 64, 1)}
    before = what if action == 'none' else server('m1.big', image='i')
    found = list(checks.images_fit([change(action, before, what)], flavors, {'i': IMAGE, 'linux': IMAGE}))
    assert len(found) == len(words) and all(word in each.text for word, each in zip(words, found, strict=True))


@pytest.mark.parametrize('zone, zones, is_found', [
    ('mars', {'compute': {'nova'}}, True), ('nova', {'compute': {'nova'}}, False),
    ('nova:host', {'compute': {'nova'}}, False), ('mars', {'volume': {'nova'}}, False),
    (None, {'compute': {'nova'}}, False), (UNKNOWN, {'compute': {'nova'}}, False)])
def test_zones_exist(zone, zones, is_found):
    cause = Cause('template', 'x', 3, 4)
    made = change('create', None, server(availability_zone=zone), values=(
        ValueChange(('availability_zone',), None, zone, cause=cause),))
    found = list(checks.zones_exist([made], zones))
    assert [each.cause for each in found] == ([cause] if is_found else [])


def test_deletes_are_blocked_by_what_is_outside():
    gone = [change('delete', disk(), None, 'a', physical_id='1'),
            change('replace', disk(), disk(), 'b', physical_id='2'),
            change('release', disk(), None, 'c', physical_id='3'),
            change('none', disk(), disk(), 'd', physical_id='4')]
    found = list(checks.deletes_blocked(gone, [Hold(str(number), f'server {number}') for number in range(1, 5)]))
    assert [(each.path, each.level) for each in found] == [(('a',), FindingLevel.ERROR), (('b',), FindingLevel.ERROR)]


def test_findings_are_bounded_and_errors_come_first():
    found = [PlanFinding(FindingLevel.NOTE, 'n'),
             *(PlanFinding(FindingLevel.WARNING, str(each)) for each in range(200)),
             PlanFinding(FindingLevel.ERROR, 'e')]
    kept = findings.bounded(found)
    assert len(kept) == findings.MOST_FINDINGS + 1
    assert kept[0].text == 'e' and kept[-1].text == 'There are 102 more findings.'


def test_the_failure_of_the_dry_run_and_what_is_gone_are_findings():
    plan = Plan('update', (change('replace', disk(), disk(), is_gone=True), change('none', is_gone=True)), (), {},
                fails='r: no')
    assert [(str(each.level), each.text) for each in checks.dry_run(plan)] == [
        ('error', 'r: no'), ('note', 'Its object is gone in the cloud; it is made again.'),
        ('warning', 'Its object is gone in the cloud.')]


PRICES = prices.parse({'currency': 'EUR', 'flavors': {'m1.small': 0.02, 'm1.big': '0.1'},
                       'volume_types': {'ssd': 0.001, 'default': 0.0002}, 'each': {'ports': 0.5}})


@pytest.mark.parametrize('changes, before, after', [
    ([], '0', '0'),
    ([change('create', None, server())], '0', '0.52'),
    ([change('update', server(), server('2'))], '0.52', '0.6'),
    ([change('unknown', server(), server('2'))], '0.52', '0.52'),
    ([change('create', None, disk(100, volume_type='ssd')), change('delete', disk(10), None)], '0.002', '0.1'),
])
def test_cost(changes, before, after):
    assert prices.cost(changes, FLAVORS, PRICES) == {
        'currency': 'EUR', 'per_hour': {'before': before, 'after': after}, 'without_price': []}


def test_what_has_no_price_is_named():
    found = prices.cost([change('create', None, server('2')), change('create', None, disk())], FLAVORS,
                        prices.parse({'currency': 'EUR', 'flavors': {'m1.small': 1}, 'volume_types': {'ssd': 1}}))
    assert found['without_price'] == ['flavor m1.big', 'volume type default']
    assert found['per_hour']['after'] == '0'


@pytest.mark.parametrize('document, words', [
    (None, 'currency'), ({}, 'currency'), ({'flavour': {}}, 'flavour'), ({'flavors': {'a': 'much'}}, 'flavors.a'),
    ({'flavors': {'a': -1}}, 'flavors.a'), ({'flavors': {'a': True}}, 'flavors.a'),
    ({'flavors': {'a': 'NaN'}}, 'flavors.a'), ({'each': {'cars': 1}}, 'each.cars'), ({'flavors': ['a']}, 'flavors')])
def test_wrong_prices(document, words):
    with pytest.raises(prices.WrongPrices, match=words):
        prices.parse(document and {'currency': 'EUR', **document})


def test_decimals_are_exact():
    each = prices.parse({'currency': 'EUR', 'each': {'ports': 0.1}})
    ports = [change('create', None, measured('OS::Neutron::Port', {})) for _ in range(3)]
    assert prices.cost(ports, {}, each)['per_hour']['after'] == '0.3' and each.each[Meter.PORTS] == Decimal('0.1')


def test_the_text_of_what_was_found():
    document = {'totals': {
        'vcpus': {'before': 1, 'after': 2, 'at_once': 2}, 'ports': {'before': 1, 'after': 1, 'at_once': 1}},
        'cost': {'currency': 'EUR', 'per_hour': {'before': '0', 'after': '0.1'}, 'without_price': ['flavor x']},
        'findings': [PlanFinding(FindingLevel.ERROR, 'No.', ('a', 'b'), Cause('template', 'r.a', 3, 1)).to_json()]}
    assert list(findings.as_text(document)) == [
        'Totals: vcpus 1 -> 2, ports 1',
        'Cost per hour: 0 -> 0.1 EUR (without price: flavor x)', 'error: a/b: No.  # template r.a line 3']
    assert list(findings.as_text({})) == []             # of a plan that was made before there were checks
