"""AWS::IAM::User and AWS::IAM::AccessKey: a user inside the stack, and the keys to log in with.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

import logging

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources import catalogue, stack_user

LOG = logging.getLogger(__name__)

USER, ACCESS_KEY = 'AWS::IAM::User', 'AWS::IAM::AccessKey'
POLICY = 'OS::Heat::AccessPolicy'


class User(stack_user.StackUser):
    """A user who can read metadata of the stack's resources: what all its policies allow; without one, all.

    The API asks what is stored of it: `heatlite.api.stack_users`.
    """

    requires_deferred_auth = True
    support_status = catalogue.status(USER)
    properties_schema = catalogue.properties(USER)
    attributes_schema = catalogue.attribute_schemata(USER)

    PROPERTIES = (PATH, GROUPS, LOGIN_PROFILE, POLICIES) = ('Path', 'Groups', 'LoginProfile', 'Policies')
    PASSWORD = 'Password'

    def handle_create(self) -> None:
        self._check_policies()
        profile = self.properties[self.LOGIN_PROFILE]
        if profile and profile[self.PASSWORD]:
            self.password = profile[self.PASSWORD]
        super().handle_create()
        self.resource_id_set(self._get_user_id())

    def _check_policies(self) -> None:
        """Raise Error. Policies written out in full, as AWS has them, are not read: they allow nothing."""
        for policy in self.properties[self.POLICIES] or ():
            if not isinstance(policy, str):
                LOG.warning('%s: a policy that is not the name of an %s allows nothing', self.name, POLICY)
                continue
            named = self.stack.get(policy) or self.stack.resource_by_refid(policy)
            if named is None or not hasattr(named, 'access_allowed'):
                raise exception.Error(_('%(policy)s is no %(type)s of this stack') % {'policy': policy, 'type': POLICY})

    def get_reference_id(self) -> str:
        """Return the physical name, by which access keys refer to it."""
        return self.physical_resource_name() if self.resource_id is not None else str(self.name)    # type: ignore[return-value]


class AccessKey(resource.Resource):
    """A pair of access keys of a user of the same stack. Its physical id is the public half."""

    looks_up_others = True

    requires_deferred_auth = True
    support_status = catalogue.status(ACCESS_KEY)
    properties_schema = catalogue.properties(ACCESS_KEY)
    attributes_schema = catalogue.attribute_schemata(ACCESS_KEY)

    PROPERTIES = (SERIAL, USER_NAME, STATUS) = ('Serial', 'UserName', 'Status')
    ATTRIBUTES = (USER_NAME, SECRET_ACCESS_KEY) = ('UserName', 'SecretAccessKey')
    SECRET, CREDENTIAL, OWNER = 'secret_key', 'credential_id', 'owner'      # what is kept of it

    def handle_create(self) -> None:
        user = self.stack.resource_by_refid(self.properties[self.USER_NAME])
        if not isinstance(user, User):
            raise exception.Error(_('%(user)s is no %(type)s of this stack') % {
                'user': self.properties[self.USER_NAME], 'type': USER})
        if not user.has_identity:
            self.data_set(self.SECRET, user._new_password(), redact=True)
            self.resource_id_set(self.runtime.uuid().replace('-', ''))
            return
        made = self.keystone().create_stack_domain_user_keypair(
            user_id=user._get_user_id() or '', project_id=user._project())
        self.data_set(self.OWNER, user._get_user_id())
        self.data_set(self.CREDENTIAL, made.id, redact=True)
        self.data_set(self.SECRET, made.secret, redact=True)
        self.resource_id_set(made.access)

    def handle_delete(self) -> None:
        kept = self.data()
        if self.CREDENTIAL in kept:
            self.keystone().delete_stack_domain_user_keypair(
                user_id=kept[self.OWNER], project_id=self.stack.stack_user_project_id,
                credential_id=kept[self.CREDENTIAL])

    def _resolve_attribute(self, name: str) -> object:
        match name:
            case self.USER_NAME:
                return self.properties[self.USER_NAME]
            case self.SECRET_ACCESS_KEY:
                return self.data().get(self.SECRET)
        return None


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {USER: User, ACCESS_KEY: AccessKey}
