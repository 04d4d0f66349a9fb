"""COM::TwoFellows::EIPAssociation: a public address that leads to a server."""

from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes, properties, resource

from . import api


class EIPAssociation(resource.Resource):
    """An elastic address of the account, at a server. It can move to another server without being replaced."""

    PROPERTIES = (EIP_ID, INSTANCE_ID, ZONE) = ('eip_id', 'instance_id', 'zone')
    ATTRIBUTES = (ADDRESS,) = ('address',)
    requires_deferred_auth = False          # QingCloud has a login of its own, so its stack needs no trust

    properties_schema = {
        EIP_ID: properties.Schema(properties.Schema.STRING, _('Id of the address.'), required=True),
        INSTANCE_ID: properties.Schema(properties.Schema.STRING, _('Id of the server.'), required=True,
                                       update_allowed=True),
        ZONE: api.zone_property(),
    }
    attributes_schema = {
        ADDRESS: attributes.Schema(_('The public address.'), type=attributes.Schema.STRING),
    }

    def handle_create(self):
        return {'job': None}

    def find_existing(self):
        """After a crash: the id of the address, once it leads to the server."""
        return self.properties[self.EIP_ID] if self._holder(self._eip()) == self.properties[self.INSTANCE_ID] else None

    @api.patient
    def check_create_complete(self, progress=None):
        if self._turn(progress or {}, None, self.properties[self.INSTANCE_ID]):
            self.resource_id_set(self.properties[self.EIP_ID])
            return True
        return False

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        return {'job': None, 'to': prop_diff[self.INSTANCE_ID]} if self.INSTANCE_ID in prop_diff else None

    @api.patient
    def check_update_complete(self, progress):
        return progress is None or self._turn(progress, self.properties[self.INSTANCE_ID], progress['to'])

    def handle_delete(self):
        return {'job': None}

    @api.patient
    def check_delete_complete(self, progress):
        try:
            return self._turn(progress, self.properties[self.INSTANCE_ID], None)
        except api.NotFound:
            return True

    def handle_check(self):
        self._verify_check_conditions([{'attr': self.INSTANCE_ID, 'expected': self.properties[self.INSTANCE_ID],
                                        'current': self._holder(self._eip())}])

    def _resolve_attribute(self, name):
        try:
            return self._eip()['eip_addr'] if self.resource_id is not None else None
        except api.NotFound:
            return None

    def get_live_resource_data(self):
        return self._eip()

    def parse_live_resource_data(self, resource_properties, resource_data):
        return {self.INSTANCE_ID: self._holder(resource_data)}

    def _turn(self, progress, before, after):
        """Takes the address from `before` to `after`, either may be None; whether it is there.

        From somebody else it is never taken: at the end that is as good as done, before it an error.
        """
        zone, eip = self.properties[self.ZONE], self._eip()
        holder = self._holder(eip)
        if eip['transition_status']:
            return False
        if holder == after or (after is None and holder != before):
            return True
        api.check_job(zone, progress.get('job'))
        if holder is None:
            answer = api.ask(zone, 'associate_eip', eip=eip['eip_id'], instance=after)
        elif holder == before:
            answer = api.ask(zone, 'dissociate_eips', eips=[eip['eip_id']])
        else:
            raise exception.Error(_('The address %(eip)s is in use at %(holder)s.') % {
                'eip': eip['eip_id'], 'holder': holder})
        progress['job'] = answer.get('job_id')
        return False

    @staticmethod
    def _holder(eip):
        """Id of the server the address leads to, or None."""
        return (eip.get('resource') or {}).get('resource_id') or None

    def _eip(self):
        return api.described(self.properties[self.ZONE], 'describe_eips', 'eip', self.properties[self.EIP_ID])


def available_resource_mapping():
    return {'COM::TwoFellows::EIPAssociation': EIPAssociation} if api.is_available() else {}
