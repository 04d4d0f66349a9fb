"""The value of an attribute, as its description says where it is found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from heatlite.engine.resources.rest import hooks
from heatlite.engine.resources.rest.calls import first_that_applies, templates
from heatlite.engine.resources.rest.templating import fill, pick
from heatlite.engine.resources.rest.words import AttributeWords

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource


def value(resource: DescribedResource, name: str) -> object:
    """May ask the service. An attribute that the description does not have is the field of that name."""
    written = resource.description.attributes.get(name, name)
    source: AttributeWords = {'field': written} if isinstance(written, str) else written
    field = source.get('field')
    if field is not None:
        return pick(resource.shown(fresh=resource.attributes.get_cache_mode(name) == 'cache_none'), field)
    if 'data' in source:
        stored = resource.data().get(source['data'], source.get('otherwise'))
        return json.loads(stored) if stored is not None and source.get('json') else stored
    if 'call' in source:
        calls = first_that_applies(templates(source['call']), resource.scope())
        return resource.read(calls[0]) if calls else None
    if 'value' in source:
        return fill(source['value'], resource.scope())
    return hooks.REGISTERED[source['hook']](resource, name)
