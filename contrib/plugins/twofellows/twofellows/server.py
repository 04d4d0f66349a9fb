"""COM::TwoFellows::Server: a server that is what its template says, whatever it takes to get there."""

import base64
import contextlib

from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes, constraints, properties, resource

from . import api

RUNNING, STOPPED, GONE = 'running', 'stopped', ('terminated', 'ceased')
FOUND_AGAIN = ['pending', RUNNING, STOPPED, 'suspended']


class Server(resource.Resource):
    """A server in QingCloud.

    It is born with its physical name, which is how it is found after a crash, and gets the name of the template
    when it runs. A change of size stops and starts it.
    """

    PROPERTIES = (
        IMAGE_ID, INSTANCE_TYPE, CPU, MEMORY, NAME, DESCRIPTION, LOGIN_MODE, LOGIN_PASSWD, LOGIN_KEYPAIR, VXNETS,
        SECURITY_GROUP, HOSTNAME, USER_DATA, ZONE,
    ) = (
        'image_id', 'instance_type', 'cpu', 'memory', 'name', 'description', 'login_mode', 'login_passwd',
        'login_keypair', 'vxnets', 'security_group', 'hostname', 'user_data', 'zone',
    )
    ATTRIBUTES = (INSTANCE_ID, INSTANCE_NAME, STATUS, PRIVATE_IP, PUBLIC_IP) = (
        'instance_id', 'name', 'status', 'private_ip', 'public_ip')
    SIZES = (INSTANCE_TYPE, CPU, MEMORY)
    KEY, PASSWORD = 'keypair', 'passwd'
    requires_deferred_auth = False          # QingCloud has a login of its own, so its stack needs no trust

    properties_schema = {
        IMAGE_ID: properties.Schema(properties.Schema.STRING, _('Id of the image.'), required=True),
        INSTANCE_TYPE: properties.Schema(
            properties.Schema.STRING, _('Size by its name, such as s1.small.r1.'), update_allowed=True),
        CPU: properties.Schema(properties.Schema.INTEGER, _('Size: number of processors.'), update_allowed=True,
                               constraints=[constraints.Range(min=1)]),
        MEMORY: properties.Schema(properties.Schema.INTEGER, _('Size: memory in MiB.'), update_allowed=True,
                                  constraints=[constraints.Range(min=512)]),
        NAME: properties.Schema(properties.Schema.STRING, _('Name; need not be unique.'), update_allowed=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _('For people.'), update_allowed=True),
        LOGIN_MODE: properties.Schema(
            properties.Schema.STRING, _('How to log in. Windows knows passwd only.'), required=True,
            constraints=[constraints.AllowedValues([KEY, PASSWORD])]),
        LOGIN_PASSWD: properties.Schema(
            properties.Schema.STRING, _('Password, for login_mode passwd. Give it by a hidden parameter.'),
            constraints=[constraints.Length(min=8)]),
        LOGIN_KEYPAIR: properties.Schema(properties.Schema.STRING, _('Id of a key pair, for login_mode keypair.')),
        VXNETS: properties.Schema(
            properties.Schema.LIST, _('Ids of the networks to join; vxnet-0 is the basic one.'),
            schema=properties.Schema(properties.Schema.STRING)),
        SECURITY_GROUP: properties.Schema(properties.Schema.STRING, _('Id of the security group.')),
        HOSTNAME: properties.Schema(properties.Schema.STRING, _('Name the server calls itself.')),
        USER_DATA: properties.Schema(properties.Schema.STRING, _('Text handed to cloud-init.')),
        ZONE: api.zone_property(),
    }
    attributes_schema = {
        INSTANCE_ID: attributes.Schema(_('Id of the server.'), type=attributes.Schema.STRING),
        INSTANCE_NAME: attributes.Schema(_('Name of the server.'), type=attributes.Schema.STRING),
        STATUS: attributes.Schema(_('pending, running, stopped, suspended, terminated or ceased.'),
                                  cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING),
        PRIVATE_IP: attributes.Schema(_('Address in the first network.'), type=attributes.Schema.STRING),
        PUBLIC_IP: attributes.Schema(_('Its elastic address, if there is one.'), type=attributes.Schema.STRING),
    }

    def validate(self):
        super().validate()
        given = {name for name in self.PROPERTIES if self.properties.get(name)}
        if (self.INSTANCE_TYPE in given) == bool(given & {self.CPU, self.MEMORY}):
            raise exception.StackValidationFailed(message=_('Wanted: either instance_type, or cpu and memory.'))
        if len(given & {self.CPU, self.MEMORY}) == 1:
            raise exception.StackValidationFailed(message=_('cpu and memory go together.'))
        login = {self.KEY: self.LOGIN_KEYPAIR, self.PASSWORD: self.LOGIN_PASSWD}[self.properties[self.LOGIN_MODE]]
        if login not in given:
            raise exception.StackValidationFailed(message=_('This login_mode needs %s.') % login)

    # --- its life -----------------------------------------------------------------------------------------

    def handle_create(self):
        progress = {'job': None}
        with contextlib.suppress(api.NotNow):       # nothing was made: the check tries again
            self._run(progress)
        return progress

    def find_existing(self):
        """After a crash or a lost answer: the id of the server that was made, None when there is none."""
        name = self.physical_resource_name()
        found = self._ask('describe_instances', search_word=name, status=FOUND_AGAIN)['instance_set']
        return next((each['instance_id'] for each in found if each['instance_name'] == name), None)

    def check_create_complete(self, progress=None):
        progress = {} if progress is None else progress
        if self.resource_id is not None:
            return self._steer(progress, self._steered(self.properties), RUNNING)
        with contextlib.suppress(api.NotNow):
            self._run(progress)
        return False

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        after = json_snippet.properties(self.properties_schema, self.context)
        return {'job': None, 'wanted': self._steered(after)}

    def check_update_complete(self, progress):
        return self._steer(progress, progress['wanted'], RUNNING)

    def handle_suspend(self):
        return {'job': None}

    def check_suspend_complete(self, progress):
        return self._steer(progress, {}, STOPPED)

    def handle_resume(self):
        return {'job': None}

    def check_resume_complete(self, progress):
        return self._steer(progress, {}, RUNNING)

    def handle_delete(self):
        return {'job': None}

    @api.patient
    def check_delete_complete(self, progress):
        if self.resource_id is None:
            return True
        try:
            server = self._describe()
            if server['status'] in GONE:
                return True
            if not server['transition_status']:
                self._begin(progress, 'terminate_instances')
        except api.NotFound:
            return True
        return False

    def handle_check(self):
        self._verify_check_conditions([
            {'attr': self.STATUS, 'expected': RUNNING, 'current': self._describe()['status']}])

    def needs_replace_failed(self):
        """A server that is there is steered to where it should be; only one that is gone is made anew."""
        server = self._describe_if_there()
        return server is None or server['status'] in GONE

    # --- what it tells ------------------------------------------------------------------------------------

    def _resolve_attribute(self, name):
        server = self._describe_if_there()
        if server is None:
            return None
        match name:
            case self.INSTANCE_ID:
                return server['instance_id']
            case self.INSTANCE_NAME:
                return server['instance_name']
            case self.STATUS:
                return server['status']
            case self.PRIVATE_IP:
                return next((network['private_ip'] for network in server['vxnets']), None)
            case self.PUBLIC_IP:
                return (server.get('eip') or {}).get('eip_addr')

    def _show_resource(self):
        return self._describe_if_there()

    def get_live_resource_data(self):
        server = self._describe()
        if server['status'] in GONE:
            raise exception.EntityNotFound(entity='Server', name=self.resource_id)
        return server

    def parse_live_resource_data(self, resource_properties, resource_data):
        return {name: value for name, value in self._now(resource_data).items() if resource_properties.get(name)}

    # --- steps --------------------------------------------------------------------------------------------

    def _run(self, progress):
        given = self.properties
        user_data = given[self.USER_DATA]
        parameters = {
            'image_id': given[self.IMAGE_ID], 'instance_name': self.physical_resource_name(), 'count': 1,
            'vxnets': given[self.VXNETS], 'security_group': given[self.SECURITY_GROUP],
            'hostname': given[self.HOSTNAME], 'login_mode': given[self.LOGIN_MODE],
            'login_passwd': given[self.LOGIN_PASSWD], 'login_keypair': given[self.LOGIN_KEYPAIR],
            **{name: given[name] for name in self.SIZES if given[name]}}
        if user_data:
            parameters.update(need_userdata=1, userdata_type='plain',
                              userdata_value=base64.b64encode(user_data.encode()).decode())
        answer = self._ask('run_instances', **parameters)
        progress['job'] = answer.get('job_id')
        self.resource_id_set(answer['instances'][0])

    def _steered(self, given):
        """What of the properties `given` can change while the server lives."""
        return {name: given[name] for name in (self.NAME, self.DESCRIPTION, *self.SIZES)}

    @api.patient
    def _steer(self, progress, wanted, status):
        """Looks where the server is and takes the next step to `wanted` and `status`; whether it is there.

        `wanted`: name, description and size, or nothing when they do not matter.

        Which step is next is read from the server alone, so it does not matter who took the last one.
        """
        server = self._describe()
        if server['status'] in GONE:
            raise exception.ResourceInError(resource_status=server['status'],
                                            status_reason=_('The server is gone.'))
        api.check_job(self.properties[self.ZONE], progress.get('job'))
        if server['transition_status'] or server['status'] == 'pending':
            return False
        texts, size = self._texts(server, wanted), self._size(server, wanted)
        if texts:
            self._ask('modify_instance_attributes', instance=self.resource_id, **texts)
        if size and server['status'] != STOPPED:
            self._begin(progress, 'stop_instances')
        elif size:
            self._begin(progress, 'resize_instances', **size)
        elif server['status'] != status:
            self._begin(progress, 'start_instances' if status == RUNNING else 'stop_instances')
        else:
            return True
        return False

    def _texts(self, server, wanted):
        """Parameters that make the server's name and description those of `wanted`; empty when they are."""
        texts = {}
        if wanted:
            texts = {'instance_name': wanted[self.NAME] or self.physical_resource_name(),
                     'description': wanted[self.DESCRIPTION] or ''}
        return {name: text for name, text in texts.items() if (server.get(name) or '') != text}

    def _size(self, server, wanted):
        """Parameters that give the server the size of `wanted`; empty when it has it."""
        now = self._now(server)
        given = {name: wanted[name] for name in self.SIZES if wanted.get(name)}
        return given if any(now[name] != size for name, size in given.items()) else {}

    def _now(self, server):
        """The properties that can change, as they are."""
        return {self.NAME: server['instance_name'], self.DESCRIPTION: server.get('description') or '',
                self.INSTANCE_TYPE: server['instance_type'], self.CPU: server['vcpus_current'],
                self.MEMORY: server['memory_current']}

    def _begin(self, progress, call, **parameters):
        progress['job'] = self._ask(call, instances=[self.resource_id], **parameters).get('job_id')

    def _describe(self):
        return api.described(self.properties[self.ZONE], 'describe_instances', 'instance', self.resource_id)

    def _describe_if_there(self):
        try:
            return self._describe() if self.resource_id is not None else None
        except api.NotFound:
            return None

    def _ask(self, call, **parameters):
        return api.ask(self.properties[self.ZONE], call, **parameters)


def available_resource_mapping():
    return {'COM::TwoFellows::Server': Server} if api.is_available() else {}
