"""Does a description agree with the facts of its type? Every property must be used or set aside, every name known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heatlite.engine.resources.packed import PackedFacts
from heatlite.engine.resources.rest import hooks, spelling
from heatlite.engine.resources.rest.calls import CallTemplate
from heatlite.engine.resources.rest.description import TypeDescription
from heatlite.engine.resources.rest.templating import places
from heatlite.engine.resources.rest.words import CheckWords
from heatlite.engine.resources.yaml_lines import Written

KNOWN = frozenset({'id', 'uuid', 'physical_name', 'name', 'own_project', 'own_projects', 'old', 'stack', 'changed',
                   'item', 'items', 'value', 'answer'})


def diagnostics(what: TypeDescription, facts: PackedFacts) -> Iterator[tuple[str, str]]:
    """(word of the description, what is wrong with it)."""
    properties = facts.get('properties', {})
    yield from references(what, facts)
    yield from _updates(what, properties)
    yield from _attributes(what, facts.get('attributes', {}))
    yield from _reads(what)
    if what.create is None and not what.follow:
        yield 'create', 'nothing is ever created'


def references(what: TypeDescription, facts: PackedFacts) -> Iterator[tuple[str, str]]:
    """Yield those of `diagnostics` that do not depend on others: names that are not defined."""
    properties = facts.get('properties', {})
    yield from _names(what, properties)
    yield from _places(what, properties)
    yield from _hooks(what)


def exists(path: str, properties: Mapping[str, object]) -> bool:
    """Whether a dotted path leads to a property; `*` and list items are stepped through."""
    schemata: object = properties
    for part in path.split('.'):
        if part == '*':
            continue
        if not isinstance(schemata, Mapping) or part not in schemata:
            return False
        inner = schemata[part].get('schema')
        if inner is None:
            return True                     # the contents of an open map are unknown
        schemata = inner['*'].get('schema') if set(inner) == {'*'} else inner
    return True


def _names(what: TypeDescription, properties: Mapping[str, Written]) -> Iterator[tuple[str, str]]:
    named: dict[str, set[str]] = {
        'body': {*what.rules.top, *(f'{first}.{".".join(path)}' for first, inner in what.rules.inside.items()
                                    for path, _field in inner)},
        'find': set(what.find), 'fold': set(what.fold), 'ignore': set(what.ignore), 'live': set(what.live),
        'spread': set(what.rules.spread) - {'value_specs'}, 'microversions': set(what.microversions),
        'follow': {name for follow in what.follow for name in (follow.property, *follow.depends)},
        'removed': set(what.removed) - {'description'}, 'not_reset': set(what.not_reset),
        'replaces': set(what.replaces), 'updates': set(what.updates),
        'replace_first': set(what.replace_first) if isinstance(what.replace_first, tuple) else set(),
        'ends': {name for condition in what.ends for name in condition.values()}, 'folded': set(what.folded),
        'keep': {how['when'] for how in what.keep.values() if how.get('when')},
        'send': {name for group in what.send for name in group} if isinstance(what.send, list) else set(),
        'check': {name for rule in what.check for name in _of_rule(rule)},
    }
    for word, used in named.items():
        for name in sorted(used - {'value_specs'}):
            if not exists(name, properties):
                yield word, f'there is no property {name}{spelling.hint(name, properties)}'


def _of_rule(rule: CheckWords) -> Iterator[str]:
    prefix = f'{rule["each"]}.' if 'each' in rule else ''
    if prefix:
        yield rule['each']
    for names in (rule.get('exclusive', ()), rule.get('one_of', ()), rule.get('exactly_one', ()),
                  rule.get('require', ()), rule.get('forbid', ()), rule.get('ordered', ())):
        for name in names:
            yield from (prefix + each for each in (name if isinstance(name, list) else [name]))
    for name, needed in rule.get('needs', {}).items():
        yield from (prefix + name, prefix + needed)
    yield from (prefix + name for name in rule.get('when', {}))
    for name, wanted in rule.get('only', {}).items():
        yield from (prefix + name, *(prefix + other for other in wanted))


def _templates(what: TypeDescription) -> Iterator[tuple[str, CallTemplate]]:
    for word in ('create', 'delete', 'show'):
        if getattr(what, word) is not None:
            yield word, getattr(what, word)
    for word in ('then', 'finish', 'update', 'suspend', 'resume'):
        yield from ((word, each) for each in getattr(what, word))
    for follow in what.follow:
        yield from (('follow', each) for each in (*follow.set, *follow.add, *follow.drop))
        if follow.live is not None:
            yield 'follow', follow.live
    for step in what.before_delete:
        yield from (('before_delete', each) for each in step['call'])


def _places(what: TypeDescription, properties: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    written = [(word, part) for word, each in _templates(what)
               for part in (each.path, each.body, each.headers, each.query,
                            f'{{{each.when}}}' if each.when else '', f'{{{each.unless}}}' if each.unless else '')]
    written += [('id', what.id), ('constants', what.constants)]
    for word, part in written:
        for place in places(part):
            first = place.lstrip('.').split('.')[0]
            if (place.startswith('.') or first not in KNOWN) and first not in properties:
                yield word, f'{{{place}}} is neither a property nor known otherwise'


def _updates(what: TypeDescription, properties: Mapping[str, Written]) -> Iterator[tuple[str, str]]:
    updatable = {name for name, body in properties.items() if body.get('update_allowed')} | what.updates
    followed = {follow.property for follow in what.follow} | {name for follow in what.follow for name in follow.depends}
    can_update = bool(what.update or what.follow or 'update' in what.hooks)
    if updatable and not can_update:
        yield 'update', f'{", ".join(sorted(updatable))} may be updated, but nothing does it'
    if what.update and not updatable:
        yield 'update', 'no property may be updated'
    if not what.update:
        for name in sorted(updatable - followed):
            if 'update' not in what.hooks and can_update:
                yield 'update', f'{name} may be updated, but nothing does it'
    explicit = [each for each in what.update if each.body is not None]
    for name in sorted(updatable & what.ignore):
        if not explicit and name not in followed:
            yield 'ignore', f'{name} may be updated, so it cannot be ignored'


def _attributes(what: TypeDescription, attributes: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name in what.attributes:
        if name not in attributes:
            yield 'attributes', f'there is no attribute {name}'
    if what.show is None:
        for name in attributes:
            if name != 'show' and not set(what.attributes.get(name, {})) & {'call', 'data', 'value', 'hook'}:
                yield 'attributes', f'nothing tells {name}'


def _reads(what: TypeDescription) -> Iterator[tuple[str, str]]:
    """Yield the words whose requests cannot be sent."""
    if what.show is None:
        switches = {'suspend': what.suspend, 'resume': what.resume} if what.send == 'all' else {}
        for word, value in {'gone': what.gone, 'healthy': what.healthy, 'keep_failed': what.keep_failed,
                            'wait': what.waits or None, **switches}.items():
            if value not in (None, ()):
                yield word, 'this reads the object, which is not shown'
    if what.path is None and isinstance(what.existing, Mapping) and 'calls' not in what.existing:
        yield 'existing', 'there is no path to list objects from'


def _hooks(what: TypeDescription) -> Iterator[tuple[str, str]]:
    computed = [source for source in what.attributes.values() if isinstance(source, Mapping)]
    named = [*what.hooks.values(), *(source['hook'] for source in computed if 'hook' in source),
             *(rule['hook'] for rule in what.after if 'hook' in rule)]
    for name in named:
        if name not in hooks.REGISTERED:
            yield 'hooks', f'there is no hook {name}'
