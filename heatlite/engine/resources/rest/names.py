"""Names and ids: the name a thing gets, lookups of what was given by name, the ways back from answers to properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import translation
from heatlite.engine.properties import Properties, Values
from heatlite.engine.resources.packed import RuleFacts
from heatlite.engine.resources.rest import hooks
from heatlite.engine.resources.rest.description import TypeDescription
from heatlite.engine.resources.rest.templating import fill, pick
from heatlite.engine.resources.rest.words import Find, Fold

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

Rule = translation.TranslationRule


def chosen(resource: DescribedResource, properties: Values) -> str | None:
    """The name given; else that of the object, where its name is its id, as of one that was imported; else the physical
    name."""
    wanted = resource.description.name_property
    given: str | None = properties.get(wanted) if wanted is not None and wanted in properties else None
    of_object = resource.resource_id if resource.description.id == '{name}' else None
    name: str | None = given or of_object or resource.physical_resource_name()
    return name


def is_given(resource: DescribedResource) -> bool:
    """The template names the thing itself, so other things may have that name too."""
    wanted = resource.description.name_property
    return wanted is not None and wanted in resource.properties and bool(resource.properties[wanted])


def physical_id(resource: DescribedResource, answer: object) -> object:
    """Return the id of an object: as the hook or the template of the description makes it, or the field of `answer`.

    Raises Error if the answer has no such field.
    """
    what = resource.description
    if 'id' in what.hooks:
        return hooks.call(what, 'id', resource, answer)
    if '{' in what.id:
        return fill(what.id, resource.scope(answer=answer))
    value = pick(answer, what.id)
    if value is None:
        raise exception.Error(_('The service did not say the %(field)s of what it made.') % {'field': what.id})
    return value


def unwrapped(what: TypeDescription, answer: object) -> object:
    key = what.answer_key or what.key
    if key and isinstance(answer, Mapping) and key in answer:
        return answer[key]
    return {} if answer is None else answer


def live(resource: DescribedResource, wanted: Mapping[str, object], found: Mapping[str, object],
         properties: Iterable[str] | None = None) -> dict[str, object]:
    """Properties as they are now: by the body's rules backwards, or as `live` says.

    `properties`: their names; None: those that may be updated. `wanted`: what the template says now. `live`: a path of
    fields, `~` (unknown), or `{each: {name: field}}` for the items of a list.
    """
    what = resource.description
    live: dict[str, object] = {}
    for name in sorted(resource.calc_update_allowed(resource.properties) if properties is None else properties):
        if wanted.get(name) is None or (name == what.name_property and not wanted[name]):
            continue                        # what the template leaves to the service cannot drift
        if name in what.live:
            how = what.live[name]
            if how is None:
                continue
            if isinstance(how, str):
                live[name] = pick(found, how)
            elif 'call' not in how:
                items = pick(found, how.get('from', name)) or []
                live[name] = [{mine: pick(item, theirs) for mine, theirs in how['each'].items()} for item in items]
        elif not any(follow.property == name for follow in what.follow) or name in found:
            is_told, value = what.rules.live(name, found)
            if is_told:
                live[name] = as_far_as_asked(value, wanted[name])
                if name in what.folded and value == str(wanted[name]).lower():
                    live[name] = wanted[name]
    if 'live' in what.hooks:
        live.update(hooks.call(what, 'live', resource, wanted, found))
    return live


def as_far_as_asked(found: object, wanted: object) -> object:
    """Return `found` without the entries of maps that are not in `wanted`: services add entries of their own."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return {name: as_far_as_asked(found[name], value) for name, value in wanted.items()
                if value is not None and name in found}
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [as_far_as_asked(*pair) for pair in zip(found, wanted, strict=True)]
    return found


# --- lookups ---------------------------------------------------------------------------------------------

def translation_rules(resource: DescribedResource, properties: Properties) -> list[Rule]:
    """The rules of the facts, and those of `find` and `fold`."""
    found = [rule for fact in resource.rule_facts for rule in _of_fact(resource, properties, fact)]
    for old, folded in resource.description.fold.items():
        found += _folded(properties, old, folded)
    for path, how in resource.description.find.items():
        found += _looked_up(resource, properties, path, how)
    return found


def _of_fact(resource: DescribedResource, properties: Properties, fact: RuleFacts) -> list[Rule]:
    path = list(fact['path'])
    if fact.get('conditional') or path[0] not in resource.properties_schema:
        return []                           # said by the description, with its condition; or meant for a sister type
    if fact['rule'] == 'replace':
        return [Rule(properties, translation.REPLACE, path, value_name=fact.get('value_name'),
                     value_path=fact.get('value_path'))]
    if fact['rule'] == 'resolve':
        return [Rule(properties, translation.RESOLVE, path, client_plugin=FinderPlugin(resource, fact['client_plugin']),
                     finder=fact['finder'], entity=fact.get('entity'))]
    return []


def _folded(properties: Properties, old: str, how: str | Fold) -> list[Rule]:
    if isinstance(how, str):
        return [Rule(properties, translation.REPLACE, how.split('.'), value_path=old.split('.'))]
    given = properties.get(old) if old in properties else None
    if given is None:
        return []
    return [Rule(properties, translation.ADD, how['append_to'].split('.'), value=[given]),
            Rule(properties, translation.DELETE, [old])]


def _looked_up(resource: DescribedResource, properties: Properties, path: str, how: str | Find) -> list[Rule]:
    finder = how if isinstance(how, str) else how['finder']
    entity = None if isinstance(how, str) else how.get('entity')
    if isinstance(entity, Mapping):
        kind: str | None = properties.get(entity['by'])
        entity = entity.get('values', {}).get(kind, kind)
    plugin, _dot, method = finder.partition('.')
    method, _colon, named = method.partition(':')
    steps = [part for part in path.split('.') if part != '*']
    return [Rule(properties, translation.RESOLVE, steps, client_plugin=FinderPlugin(resource, plugin), finder=method,
                 entity=named or entity)]


class FinderPlugin:
    """A client plug-in that is looked for when one of its finders is called."""

    def __init__(self, resource: DescribedResource, name: str) -> None:
        self._resource = resource
        self._name = name

    def __getattr__(self, finder: str) -> object:
        plugin = self._resource.client_plugin(self._name)
        if plugin is None:
            raise exception.ClientNotAvailable(client_name=self._name)
        return getattr(plugin, finder)
