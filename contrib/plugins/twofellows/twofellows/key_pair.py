"""COM::TwoFellows::KeyPair and KeyPairAttachment: a key, and its presence on a server."""

import contextlib

from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes, constraints, properties, resource

from . import api


class KeyPair(resource.Resource):
    """A key pair for SSH. Without `public_key` QingCloud makes it, and tells the private key once.

    That key is kept encrypted with the stack. A pair whose private key was lost on the way is removed and made anew.
    """

    PROPERTIES = (NAME, PUBLIC_KEY, ENCRYPT_METHOD, ZONE) = ('name', 'public_key', 'encrypt_method', 'zone')
    ATTRIBUTES = (KEY_PAIR_ID, PRIVATE_KEY) = ('key_pair_id', 'private_key')
    requires_deferred_auth = False          # QingCloud has a login of its own, so its stack needs no trust

    properties_schema = {
        NAME: properties.Schema(properties.Schema.STRING, _('Name; need not be unique.'), update_allowed=True),
        PUBLIC_KEY: properties.Schema(properties.Schema.STRING, _('Public half of a key you have.')),
        ENCRYPT_METHOD: properties.Schema(
            properties.Schema.STRING, _('Kind of the key.'), default='ssh-rsa',
            constraints=[constraints.AllowedValues(['ssh-rsa', 'ssh-dss'])]),
        ZONE: api.zone_property(),
    }
    attributes_schema = {
        KEY_PAIR_ID: attributes.Schema(_('Id of the key pair.'), type=attributes.Schema.STRING),
        PRIVATE_KEY: attributes.Schema(_('Private half, when QingCloud has made the pair.'),
                                       cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING),
    }

    def handle_create(self):
        given = {'mode': 'user', 'public_key': self.properties[self.PUBLIC_KEY]} if self._is_ours() else {
            'mode': 'system', 'encrypt_method': self.properties[self.ENCRYPT_METHOD]}
        pair = self._ask('create_keypair', keypair_name=self.physical_resource_name(), **given)
        if not self._is_ours():
            self.data_set(self.PRIVATE_KEY, pair['private_key'], redact=True)
        self.resource_id_set(pair['keypair_id'])

    def find_existing(self):
        """After a crash or a lost answer: the id of the pair, None when there is none or it is of no use."""
        name = self.physical_resource_name()
        found = self._ask('describe_key_pairs', search_word=name)['keypair_set']
        pair = next((each['keypair_id'] for each in found if each['keypair_name'] == name), None)
        if pair is None or self._is_ours() or self.PRIVATE_KEY in self.data():
            return pair
        self._ask('delete_keypairs', keypairs=[pair])
        return None

    @api.patient
    def check_create_complete(self, _nothing=None):
        self._rename(self.properties[self.NAME])
        return True

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if self.NAME in prop_diff:
            self._rename(prop_diff[self.NAME])

    def handle_delete(self):
        return None

    @api.patient
    def check_delete_complete(self, _nothing=None):
        if self.resource_id is not None:
            with contextlib.suppress(api.NotFound):
                self._ask('delete_keypairs', keypairs=[self.resource_id])
        return True

    def handle_check(self):
        self._describe()

    def _resolve_attribute(self, name):
        return self.resource_id if name == self.KEY_PAIR_ID else self.data().get(self.PRIVATE_KEY)

    def _show_resource(self):
        try:
            return self._describe() if self.resource_id is not None else None
        except api.NotFound:
            return None

    def get_live_resource_data(self):
        return self._describe()

    def parse_live_resource_data(self, resource_properties, resource_data):
        return {self.NAME: resource_data['keypair_name']} if resource_properties.get(self.NAME) else {}

    def _is_ours(self):
        return bool(self.properties[self.PUBLIC_KEY])

    def _rename(self, name):
        name = name or self.physical_resource_name()
        if self._describe()['keypair_name'] != name:
            self._ask('modify_keypair_attributes', keypair=self.resource_id, keypair_name=name)

    def _describe(self):
        return api.described(self.properties[self.ZONE], 'describe_key_pairs', 'keypair', self.resource_id)

    def _ask(self, call, **parameters):
        return api.ask(self.properties[self.ZONE], call, **parameters)


class KeyPairAttachment(resource.Resource):
    """A key pair on a server."""

    PROPERTIES = (KEY_PAIR_ID, INSTANCE_ID, ZONE) = ('key_pair_id', 'instance_id', 'zone')
    requires_deferred_auth = False          # QingCloud has a login of its own, so its stack needs no trust

    properties_schema = {
        KEY_PAIR_ID: properties.Schema(properties.Schema.STRING, _('Id of the key pair.'), required=True),
        INSTANCE_ID: properties.Schema(properties.Schema.STRING, _('Id of the server.'), required=True),
        ZONE: api.zone_property(),
    }
    attributes_schema = {
        KEY_PAIR_ID: attributes.Schema(_('Id of the key pair.'), type=attributes.Schema.STRING),
        INSTANCE_ID: attributes.Schema(_('Id of the server.'), type=attributes.Schema.STRING),
    }

    def handle_create(self):
        return {'job': None}

    def find_existing(self):
        """After a crash: the pair of ids, once the key is there."""
        return self._name() if self._is_attached(self._server()) else None

    @api.patient
    def check_create_complete(self, progress=None):
        if self._turn(progress or {}, 'attach_keypairs', wanted=True):
            self.resource_id_set(self._name())
            return True
        return False

    def handle_delete(self):
        return {'job': None}

    @api.patient
    def check_delete_complete(self, progress):
        try:
            return self._turn(progress, 'detach_keypairs', wanted=False)
        except api.NotFound:                # no server, no key on it
            return True

    def handle_check(self):
        if not self._is_attached(self._server()):
            raise exception.Error(_('The key pair is not attached.'))

    def _resolve_attribute(self, name):
        return self.properties[name]

    def _turn(self, progress, call, wanted):
        """Whether the key is on the server, or not, as `wanted`. If not so, and nothing is under way, `call`s."""
        zone = self.properties[self.ZONE]
        server = self._server()
        if self._is_attached(server) == wanted:
            return True
        api.check_job(zone, progress.get('job'))
        if not server['transition_status']:
            progress['job'] = api.ask(zone, call, keypairs=[self.properties[self.KEY_PAIR_ID]],
                                      instances=[self.properties[self.INSTANCE_ID]]).get('job_id')
        return False

    def _name(self):
        return f'{self.properties[self.INSTANCE_ID]}/{self.properties[self.KEY_PAIR_ID]}'

    def _is_attached(self, server):
        return self.properties[self.KEY_PAIR_ID] in server['keypair_ids']

    def _server(self):
        return api.described(self.properties[self.ZONE], 'describe_instances', 'instance',
                             self.properties[self.INSTANCE_ID])


def available_resource_mapping():
    if not api.is_available():
        return {}
    return {'COM::TwoFellows::KeyPair': KeyPair, 'COM::TwoFellows::KeyPairAttachment': KeyPairAttachment}
