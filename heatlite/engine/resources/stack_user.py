"""The base class of types with a user inside the stack, which may send signals or read metadata, and nothing else."""

from __future__ import annotations

from keystoneauth1 import exceptions

from heatlite.common import exception, password_gen
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients.os.keystone.heat_keystoneclient import OutsideDomain


class StackUser(resource.Resource):
    """The user is made by `handle_create`; suspending the resource disables it."""

    def handle_create(self) -> object:
        self._create_user()
        return None

    def handle_delete(self) -> object:
        self._delete_user()
        return super().handle_delete()

    def handle_suspend(self) -> object:
        self._suspend_user()
        return None

    def handle_resume(self) -> object:
        self._resume_user()
        return None

    # --- the user -----------------------------------------------------------------------------------------

    @property
    def password(self) -> str | None:
        return self.data().get('password')

    @password.setter
    def password(self, value: str | None) -> None:
        if value is None:
            self.data_delete('password')
        else:
            self.data_set('password', value, redact=True)

    @staticmethod
    def _new_password() -> str:
        return password_gen.generate_openstack_password()

    def why_not_moved(self, to_other_stack: bool) -> str | None:
        if self._get_user_id() is None:
            return None
        return _('what logs in as its user has the names of the resource and of its stack')

    def _get_user_id(self) -> str | None:
        """Return the id of the user; None if there is none."""
        return self.data().get('user_id')

    def _project(self) -> str:
        """Return the id of the project for the users of this stack. Makes the project if there is none."""
        keystone = self.keystone()
        return str(self.stack.user_project(lambda root_id: keystone.create_stack_domain_project(root_id),
                                           keystone.delete_stack_domain_project))

    @property
    def has_identity(self) -> bool:
        """Whether the stack belongs to a user. False in a cloud without identity, where no users are made, because
        every request is allowed."""
        return self.context.user_id is not None or self.context.trust_id is not None

    def _create_user(self) -> None:
        if self.data().get('user_id'):
            return
        if not self.has_identity:
            self.data_set('user_id', self.runtime.uuid())
            return
        user_id = self.keystone().create_stack_domain_user(
            username=self.physical_resource_name() or '', password=self.password, project_id=self._project())
        self.data_set('user_id', user_id)

    def _user_token(self) -> str:
        """A token of the user. Raises ValueError without a password."""
        if self.password is None:
            raise ValueError(_("Can't get user token without password"))
        return str(self.keystone().stack_domain_user_token(
            user_id=self._get_user_id() or '', project_id=self._project(), password=self.password))

    def _delete_user(self) -> None:
        """Delete the user and its keys. Does nothing if they are gone."""
        user_id = self._get_user_id()
        if user_id is None:
            return
        if not self.has_identity:
            self.data_delete('user_id')
            return
        try:
            self.keystone().delete_stack_domain_user(user_id=user_id, project_id=self._project())
        except exceptions.NotFound:
            pass
        except ValueError:                  # of a time before there was a domain for such users
            self.keystone().delete_stack_user(user_id)
        for key in ('credential_id', 'access_key', 'secret_key', 'user_id', 'password'):
            self.data_delete(key)

    def _suspend_user(self) -> None:
        user_id = self._get_user_id()
        if user_id is not None and self.has_identity:
            try:
                self.keystone().disable_stack_domain_user(user_id=user_id, project_id=self._project())
            except OutsideDomain:           # as in `_delete_user`
                self.keystone().disable_stack_user(user_id)

    def _resume_user(self) -> None:
        user_id = self._get_user_id()
        if user_id is not None and self.has_identity:
            try:
                self.keystone().enable_stack_domain_user(user_id=user_id, project_id=self._project())
            except OutsideDomain:
                self.keystone().enable_stack_user(user_id)

    # --- its key pair -------------------------------------------------------------------------------------

    def _create_keypair(self) -> object:
        """Raise Error when there is no user yet."""
        user_id = self._get_user_id()
        if user_id is None:
            raise exception.Error(_('Error creating ec2 keypair for user %s') % user_id)
        made = self.keystone().create_stack_domain_user_keypair(user_id=user_id, project_id=self._project())
        self.data_set('credential_id', made.id, redact=True)
        self.data_set('access_key', made.access, redact=True)
        self.data_set('secret_key', made.secret, redact=True)
        return made

    def _delete_keypair(self) -> None:
        user_id, credential_id = self._get_user_id(), self.data().get('credential_id')
        if user_id is None or credential_id is None:
            return
        try:
            self.keystone().delete_stack_domain_user_keypair(
                user_id=user_id, project_id=self._project(), credential_id=credential_id)
        except OutsideDomain:
            self.keystone().delete_ec2_keypair(credential_id)
        for key in ('access_key', 'secret_key', 'credential_id'):
            self.data_delete(key)

    def _register_access_key(self) -> None:
        """Allow the user of this resource to read it, and no other resource."""
        self.stack.register_access_allowed_handler(self._get_user_id(), lambda name: name == self.name)
