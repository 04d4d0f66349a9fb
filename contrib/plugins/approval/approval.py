"""Example::Desk::Approval: waits until somebody says yes. A plug-in in one file, to be put into `plugin_dirs`."""

import requests
from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes, constraints, properties, resource

PATIENCE = 10                               # seconds for one answer of the desk


class Approval(resource.Resource):
    """A request at a help desk; complete when somebody has agreed to it."""

    PROPERTIES = (DESK, SUBJECT, DETAILS) = ('desk', 'subject', 'details')
    ATTRIBUTES = (STATE, REASON) = ('state', 'reason')
    poll_interval = 30                      # seconds: people are slow, there is no need to ask every second
    requires_deferred_auth = False          # it calls no service of the cloud, so its stack needs no trust

    properties_schema = {
        DESK: properties.Schema(
            properties.Schema.STRING, _('URL of the collection of requests.'), required=True,
            constraints=[constraints.AllowedPattern('https?://.*')]),
        SUBJECT: properties.Schema(
            properties.Schema.STRING, _('What is asked for. Another subject is another request.'), required=True,
            constraints=[constraints.Length(min=1, max=200)]),
        DETAILS: properties.Schema(
            properties.Schema.MAP, _('Anything that helps to decide.'), default={}, update_allowed=True),
    }
    attributes_schema = {
        STATE: attributes.Schema(_('open, yes or no.'), cache_mode=attributes.Schema.CACHE_NONE,
                                 type=attributes.Schema.STRING),
        REASON: attributes.Schema(_('Why it was decided so.'), type=attributes.Schema.STRING),
    }

    def handle_create(self):
        request = self._ask('post', json={
            'subject': self.properties[self.SUBJECT], 'details': self.properties[self.DETAILS],
            'reference': self.physical_resource_name()})
        self.resource_id_set(request['id'])         # durable when it returns: from here on nothing is asked twice

    def find_existing(self):
        """After a crash: the id of the request that was opened before, None when there is none."""
        found = self._ask('get', params={'reference': self.physical_resource_name()})
        return found[0]['id'] if found else None

    def check_create_complete(self, _nothing):
        request = self._ask('get', self.resource_id)
        if request['state'] == 'no':
            raise exception.Error(_('Refused: %s') % request['reason'])
        return request['state'] == 'yes'

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if self.DETAILS in prop_diff:
            self._ask('patch', self.resource_id, json={'details': prop_diff[self.DETAILS]})

    def handle_delete(self):
        if self.resource_id is not None:
            self._ask('delete', self.resource_id, may_be_gone=True)

    def handle_check(self):
        request = self._ask('get', self.resource_id)
        self._verify_check_conditions([{'attr': self.STATE, 'expected': 'yes', 'current': request['state']}])

    def _resolve_attribute(self, name):
        request = self._ask('get', self.resource_id, may_be_gone=True) if self.resource_id is not None else None
        return request and request[name]

    def _ask(self, verb, request_id=None, may_be_gone=False, **given):
        """The desk's answer as data; None for one without content, or when the request is gone and may be."""
        url = self.properties[self.DESK]
        if request_id is not None:
            url = f'{url}/{request_id}'
        answer = requests.request(verb, url, timeout=PATIENCE, **given)
        if may_be_gone and answer.status_code == 404:
            return None
        answer.raise_for_status()
        return answer.json() if answer.content else None


def resource_mapping():
    return {'Example::Desk::Approval': Approval}
