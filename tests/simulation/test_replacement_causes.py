"""Each way in which a change can be caused has its cause in the plan, and its words in the explanation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from heatlite.api.handlers import explain
from heatlite.db import stacks
from heatlite.osc import explain as command
from heatlite.planning import plan as planning
from heatlite.planning.replacement import WORDS
from heatlite.rpc import messages
from tests.simulation import cloud, planned
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_drift_watch import EVERY, INTERVAL

INNER = """heat_template_version: 2018-08-31
resources:
  inner: {type: Sim::Thing, properties: {value: %s}}
"""
FILES = {name: INNER % name for name in ('one.yaml', 'two.yaml')}
TEXT = """heat_template_version: 2018-08-31
resources:
  a:
    type: OS::Heat::Value
    properties: {value: one}
"""

RESTARTED = {'heat_template_version': '2018-08-31', 'resources': {
    'server': {'type': 'Sim::Thing', 'properties': {'value': 'server'}},
    'restart': {'type': 'OS::Heat::HARestarter', 'properties': {'InstanceId': {'get_resource': 'server'}}}}}


def template(fixed='old', kind='Sim::Thing', **values):
    return {'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string', 'default': 'x'}},
            'resources': {'a': {'type': kind, 'properties': {'value': 'one', 'fixed': fixed, **values}},
                          'b': {'type': 'Sim::Thing', 'properties': {'value': 'one', 'fixed': {'get_resource': 'a'}}}}}


def mark(cluster, stack_id):
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'felt so'))


def remove(cluster, stack_id):
    with cluster.database.reader() as tx:
        row = next(each for each in explain.resources.light(tx, stack_id) if each.name == 'a')
    del cluster.cloud.objects[row.physical_id]


def check(cluster, stack_id):
    remove(cluster, stack_id)
    cluster.ask(messages.StackAction(stack_id, 'check'))
    cluster.settle(stack_id)


def fail(cluster, stack_id):
    cluster.update(stack_id, template(value='two', fail=True))
    cluster.settle(stack_id)


def nothing(cluster, stack_id):
    pass


@dataclass(frozen=True)
class Case:
    """`before(cluster, stack_id)`: what comes before the update; `after`: the update's body."""

    kind: str                           # of the cause of `a`
    words: str                          # of the explanation
    before: Any = nothing
    after: dict[str, Any] = field(default_factory=lambda: {'template': template()})
    first: dict[str, Any] = field(default_factory=lambda: {'template': template()})
    cause: dict[str, Any] = field(default_factory=dict)


CASES = {
    'a property': Case('template', 'a because of fixed', after={'template': template('new')}),
    'a parameter': Case('parameter', 'a because of fixed', first={'template': template({'get_param': 'p'})}, after={
        'template': template({'get_param': 'p'}), 'environment': {'parameters': {'p': 'y'}}}),
    'a file': Case('file', 'a because of fixed', first={
        'template': template({'get_file': 'text'}), 'files': {'text': 'one'}}, after={
        'template': template({'get_file': 'text'}), 'files': {'text': 'two'}}),
    'unhealthy': Case('unhealthy', 'a because it is marked as unhealthy by tester at 2', before=mark,
                      cause={'what': 'felt so', 'by': 'tester'}),
    'a failed check': Case('unhealthy', 'gone', before=check),
    'gone': Case('gone', 'its object is gone in the cloud at 2', before=remove, after={
        'template': template(), 'converge': True}),
    'failed': Case('failed', 'its last action failed at 2', before=fail, cause={'by': None}),
    'another type': Case('template', 'its type has changed at 2', cause={'what': 'resources.a.type', 'line': 4}, after={
        'template': yaml.safe_load(TEXT) | {'heat_template_version': '2018-08-31'}, 'template_text': TEXT}),
    'another meaning of a type': Case('type', 'its type has changed at 2', cause={'what': 'My::Thing'}, first={
        'template': {'heat_template_version': '2018-08-31', 'resources': {'a': {'type': 'My::Thing'}}}, 'files': FILES,
        'environment': {'resource_registry': {'My::Thing': 'one.yaml'}}}, after={
        'template': {'heat_template_version': '2018-08-31', 'resources': {'a': {'type': 'My::Thing'}}}, 'files': FILES,
        'environment': {'resource_registry': {'My::Thing': 'OS::Heat::RandomString'}}}),
}


@pytest.mark.parametrize('name', CASES)
def test_each_cause_of_a_replacement(name):
    case = CASES[name]
    with Cluster(engines=1) as cluster:
        cluster.context.username = 'tester'
        first = dict(case.first)
        stack_id = cluster.create('s', first.pop('template'), first.pop('environment', None), **first)
        done(cluster, stack_id, 'CREATE')
        case.before(cluster, stack_id)
        made = planned.plan(cluster, action='update', stack_id=stack_id, **case.after)
        change = next(each for each in made.document['changes'] if each['path'] == ['a'])
        assert change['action'] == 'replace', change
        cause = change['cause'] or next(value['cause'] for value in change['values'] if value['forces_replacement'])
        assert {'kind': cause['kind'], **{key: cause[key] for key in case.cause}} == {'kind': case.kind, **case.cause}
        preview = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, **{'environment': {}, **case.after}))
        reason = next(each for each in preview['replaced'] if each['resource_name'] == 'a')['replace_reason']
        line = f" line {cause['line']}" if cause['line'] else ''
        words = f"{cause['kind']} {cause['what']}{line}" if case.kind not in WORDS else WORDS[case.kind]
        assert change['reason'] in reason and words in reason and cause['what'] in reason, reason
        assert change['cause'] or reason.startswith(f"{change['reason']} (fixed: "), reason
        shown = '\n'.join(planning.as_text(made.document))
        assert '-/+ a' in shown and WORDS.get(case.kind, f'{case.kind} ') in shown, shown
        if change['cause']:
            assert change['cause']['kind'] == case.kind
        assert all(value['before'] is not None for value in change['values'] if value['path'] == ['value']
                   and case.kind not in ('type', 'template')), change['values']
        answer = planned.apply(cluster, made.id)
        assert not isinstance(answer, Exception), answer
        done(cluster, stack_id, 'UPDATE')
        with cluster.database.reader() as tx:
            found = explain.explained(tx, stacks.get(tx, stack_id), 3600)
        replaced = {each['path'][0]: each for each in found['replaced']}
        lines = [line for line in command.lines(found) if line.startswith('  replaced: a ')]
        assert len(lines) == 1 and case.words in lines[0], (lines, found['replaced'])
        if 'b' in replaced:
            assert replaced['b']['because_of'] == [['a']] and replaced['b']['cause'] is None


class Renewed(cloud.Thing):
    """A type that is always replaced."""

    def needs_replace(self, after_props):
        return True


def replaced(cluster, stack_id):
    """(path, kind of the cause, what) of what the last update has replaced, and the printed words."""
    with cluster.database.reader() as tx:
        found = explain.explained(tx, stacks.get(tx, stack_id), 3600)
    causes = {'/'.join(each['path']): each['cause'] and (each['cause']['kind'], each['cause']['what'])
              for each in found['replaced']}
    return causes, '\n'.join(command.lines(found))


def test_a_type_that_requires_it():
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Renewed', Renewed)
        one = {'heat_template_version': '2018-08-31', 'resources': {
            'a': {'type': 'Sim::Renewed', 'properties': {'value': 'one'}}}}
        stack_id = cluster.create('s', one)
        done(cluster, stack_id, 'CREATE')
        one['resources']['a']['properties']['value'] = 'two'
        made = planned.plan(cluster, action='update', stack_id=stack_id, template=one)
        change, = made.document['changes']
        assert (change['action'], change['cause']['kind']) == ('replace', 'rule')
        assert '(its type requires it)' in '\n'.join(planning.as_text(made.document))
        planned.apply(cluster, made.id)
        done(cluster, stack_id, 'UPDATE')
        causes, text = replaced(cluster, stack_id)
        assert causes == {'a': ('rule', '')} and '(value changed, too)' in text


@pytest.mark.parametrize(('policy', 'spoiled', 'kind', 'what'), [
    ('replace', 'changed', 'drift', 'changed: value'), ('replace', 'gone', 'gone', 'obj-1'),
    ('repair', 'gone', 'gone', 'obj-1')])
def test_what_a_scheduled_look_has_found(policy, spoiled, kind, what):
    with Cluster(engines=1, **EVERY) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'a': {'type': 'Sim::Thing', 'properties': {'value': 'v'}}}}, {
                'resource_registry': {'drift': {'*': policy}}})
        done(cluster, stack_id, 'CREATE')
        if spoiled == 'gone':
            cluster.cloud.objects.clear()
        else:
            next(iter(cluster.cloud.objects.values()))['value'] = 'x'
        wait(cluster, 3.5 * INTERVAL)            # two looks, with the random parts of the pauses between them
        done(cluster, stack_id, 'UPDATE')
        causes, text = replaced(cluster, stack_id)
        assert causes == {'a': (kind, what)} and ' at 2' in text


def test_an_alarm_that_restarts():
    with Cluster(engines=1) as cluster:
        stack_id = done(cluster, cluster.create('s', RESTARTED), 'CREATE').id
        cluster.ask(messages.SignalResource(stack_id, 'restart', {'state': 'alarm', 'reason': 'no answer'}))
        cluster.universe.run(lambda: cluster.row(stack_id).action == 'UPDATE', 100.0)
        done(cluster, stack_id, 'UPDATE')
        causes, _text = replaced(cluster, stack_id)
        assert causes['server'][0] == 'unhealthy' and causes['server'][1], causes


def test_what_the_environment_restricts():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template())
        done(cluster, stack_id, 'CREATE')
        body = {'template': template('new'), 'environment': {
            'resource_registry': {'resources': {'a': {'restricted_actions': 'replace'}}}}}
        made = planned.plan(cluster, action='update', stack_id=stack_id, **body)
        assert 'replace is restricted for resource' in made.document['fails']
        cluster.ask(messages.UpdateStack(stack_id=stack_id, **body))
        cluster.settle(stack_id)
        with cluster.database.reader() as tx:
            found = explain.explained(tx, stacks.get(tx, stack_id), 3600)
        assert found['causes'][0]['path'] == ['a'] and 'restricted_actions' in found['causes'][0]['advice'], found
