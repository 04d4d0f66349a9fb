"""Lists: filters, order, pages, chosen fields; the same for all services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from cloudsim.messages import BadRequest, Call
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.collection import Collection

# Query parameters that choose no things by a field's value.
OTHER = {'limit', 'marker', 'sort_key', 'sort_dir', 'sort', 'sort_keys', 'sort_dirs', 'fields', 'all_tenants',
         'all_projects', 'page_reverse', 'detailed', 'with_count', 'offset', 'is_public', 'include_all', 'tags',
         'tags-any', 'not-tags', 'not-tags-any', 'changes-since', 'interface_type'}
TRUE, FALSE = ('true', '1', 'yes'), ('false', '0', 'no')


class Missing:
    """In place of the value of a field that a thing does not have."""


MISSING = Missing()


def page(call: Call, collection: Collection, things: list[Thing], view: Any = None) -> Any:
    """The answer to a list request, with a link to the next page when `limit` cut it short. Raises BadRequest."""
    things = order(call, tagged(call, chosen(call, collection, things)))
    key = collection.kind.collection_key
    things, following = cut(call, things)
    show = view or collection.summary
    shown = [show(call, thing) for thing in things]
    wanted = call.query.get('fields')
    if wanted:
        names = {name for each in wanted for name in each.split(',')}
        shown = [{name: value for name, value in each.items() if name in names} for each in shown]
    if not key:
        return shown
    answer: dict[str, Any] = {key: shown}
    if following is not None:
        again = {**{name: values for name, values in call.query.items() if name != 'marker'}, 'marker': [following]}
        href = f'{call.cloud.url}{call.environ["PATH_INFO"]}?{urlencode(again, doseq=True)}'
        answer[f'{key}_links'] = [{'rel': 'next', 'href': href}]
    return answer


def chosen(call: Call, collection: Collection, things: list[Thing]) -> list[Thing]:
    """Those that have the values the query asks for. A field asked for twice may have either value."""
    if not collection.filters:
        return things
    for name, values in call.query.items():
        if name in OTHER:
            continue
        wanted = set(values)
        field = 'project_id' if name == 'tenant_id' else name
        if field == 'project_id' and 'project_id' not in collection.kind.fields:
            things = [thing for thing in things if thing.project_id in wanted]
        elif name == collection.kind.id or name == 'id':
            things = [thing for thing in things if thing.id in wanted | _some(wanted)]
        elif name == 'name':
            things = [thing for thing in things if has(collection.filterable(thing, name), wanted | _some(wanted))]
        else:
            things = [thing for thing in things if has(collection.filterable(thing, name), wanted)]
    return things


def _some(wanted: set[str]) -> set[str]:
    """The values of `in:A,B`, which asks for any of them."""
    return {value for each in wanted if each.startswith('in:') for value in each[3:].split(',')}


def has(value: Any, wanted: set[str]) -> bool:
    """Whether a field's value is, or holds, one of the wanted texts; what has no such field is not asked."""
    match value:
        case Missing():
            return True
        case bool():
            return any(each.lower() in (TRUE if value else FALSE) for each in wanted)
        case None:
            return bool(wanted & {'', 'null', 'None'})
        case list():
            return any(str(each) in wanted for each in value if not isinstance(each, dict))
        case dict():
            return False
    return str(value) in wanted


def tagged(call: Call, things: list[Thing]) -> list[Thing]:
    for name, keep in (('tags', all), ('tags-any', any), ('not-tags', lambda found: not all(found)),
                       ('not-tags-any', lambda found: not any(found))):
        said = call.query.get(name)
        if said:
            wanted = [tag for each in said for tag in each.split(',')]
            things = [thing for thing in things if keep([tag in (thing.get('tags') or ()) for tag in wanted])]
    return things


def order(call: Call, things: list[Thing]) -> list[Thing]:
    said = call.asked('sort')
    if said:
        pairs = [tuple((each + ':asc').split(':')[:2]) for each in said.split(',')]
    else:
        keys = call.query.get('sort_key') or call.query.get('sort_keys') or []
        directions = call.query.get('sort_dir') or call.query.get('sort_dirs') or []
        pairs = [(key, directions[at] if at < len(directions) else 'asc') for at, key in enumerate(keys)]
    for key, direction in reversed(pairs):
        things = sorted(things, key=lambda thing: _sortable(thing.get(key)), reverse=direction == 'desc')
    return things


def _sortable(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def cut(call: Call, things: list[Thing]) -> tuple[list[Thing], str | None]:
    """After `marker`, at most `limit`; and the marker of the next page, None when this is the last."""
    marker = call.asked('marker')
    if marker:
        at = next((index for index, thing in enumerate(things) if thing.id == marker), None)
        if at is None:
            raise BadRequest(f'marker [{marker}] not found')
        things = things[at + 1:]
    said = call.asked('limit')
    if not said:
        return things, None
    if not said.isdigit():
        raise BadRequest(f"Invalid input for limit: '{said}'")
    limit = int(said)
    if limit and len(things) > limit:
        return things[:limit], things[limit - 1].id
    return things, None
