"""A type that fails as it is told: with an error that a cloud or a user causes, or with a defect of its own."""

import logging

from heat.common.i18n import _
from heat.engine import properties, resource

LOG = logging.getLogger(__name__)


class Refused(Exception):
    """What a service answered."""


class Clumsy(resource.Resource):
    """Creates nothing. `defect`: name of the built-in exception to raise; `refused`: text of an expected failure."""

    PROPERTIES = (DEFECT, REFUSED, SAY) = ('defect', 'refused', 'say')
    properties_schema = {
        DEFECT: properties.Schema(properties.Schema.STRING, _('A defect.'), update_allowed=True),
        REFUSED: properties.Schema(properties.Schema.STRING, _('A failure.'), update_allowed=True),
        SAY: properties.Schema(properties.Schema.STRING, _('Logged.'), update_allowed=True),
    }

    def _act(self, found):
        if found[self.SAY]:
            LOG.warning('Clumsy says %s', found[self.SAY])
        if found[self.DEFECT] == 'AttributeError':
            None.nothing            # noqa: B018
        if found[self.DEFECT] == 'KeyError':
            {}[self.name]
        if found[self.REFUSED]:
            raise Refused(found[self.REFUSED])

    def handle_create(self):
        self._act(self.properties)
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._act(json_snippet.properties(self.properties_schema))

    def handle_signal(self, details=None):
        raise Refused(str(details))


def resource_mapping():
    return {'Test::Clumsy': Clumsy}
