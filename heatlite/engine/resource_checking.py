"""The validation of a resource before any action."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import rsrc_defn
from heatlite.engine.resource_reading import Reading
from heatlite.language.constraints import CustomLookup


def says_of_check(kind: type, name: str) -> bool:
    """Whether the class that defines `validate` of a type sets the attribute `name`: one that overrides `validate` may
    ask more."""
    defining = next(each for each in kind.__mro__ if 'validate' in vars(each))
    return bool(vars(defining).get(name))


class Checking(Reading):
    """A part of `Resource`."""

    shows_none_when_gone: ClassVar[bool] = False        # `_show_resource` returns None for an object that is not there

    def validate(self) -> object:
        """Run the checks of all types; types add their own. Raises StackValidationFailed, or returns an error text."""
        self.check_service_available(self.context, self.type())
        if self.external_id is not None:
            self.check_external()
            return None
        self._at('', self.t.validate)
        self._at('', lambda: self.validate_deletion_policy(self.t.deletion_policy()))
        lookup = self._constraint_lookup()
        self.update_policy.validate(lookup=lookup, path=self._place('update_policy'))
        self.properties.validate(with_value=getattr(self.stack, 'strict_validate', True), lookup=lookup,
                                 path=self._place('properties'))
        return None

    def _check_created(self) -> None:
        """Raise Error if the resource has no object: a check asks the service for nothing then."""
        if self.resource_id is None:
            raise exception.Error(_('Can not check %s, resource not created yet.') % self.name)

    def check_before_create(self, *, is_whole: bool) -> None:
        """Check the properties completely at the creation, when all values are known. Raises StackValidationFailed.

        `is_whole`: the type's own check runs, too, if it may (`validates_at_creation`).
        """
        self.properties.validate(lookup=self._constraint_lookup())
        if is_whole and self._validates_at_creation():
            text = self.validate()
            if text:
                raise exception.StackValidationFailed(message=text)

    def _validates_at_creation(self) -> bool:
        """Whether the type checks more than all types do, and asks no service whether its object exists."""
        return says_of_check(type(self), 'validates_at_creation')

    def validate_template(self) -> None:
        """Run the checks that need no values. Raises StackValidationFailed."""
        self._at('', self.t.validate)
        self._at('', lambda: self.validate_deletion_policy(self.t.deletion_policy()))
        self.properties.validate(with_value=False, path=self._place('properties'))

    @classmethod
    def validate_deletion_policy(cls, policy: str) -> None:
        if policy not in rsrc_defn.DELETION_POLICIES:
            raise rsrc_defn.invalid_deletion_policy(policy)
        if policy == rsrc_defn.SNAPSHOT and not hasattr(cls, 'handle_snapshot_delete'):
            raise exception.StackValidationFailed(
                path='deletion_policy', message=_('"%s" deletion policy not supported') % policy)

    def check_external(self) -> None:
        """Take the object that `external_id` names as the resource's own, if its type has objects of a service.

        Raises StackValidationFailed if the service does not have it; other errors of the service pass through."""
        if not self.entity:
            return
        self.resource_id = self.external_id
        try:
            is_there = self.get_live_resource_data() is not None or not self.shows_none_when_gone
        except Exception as error:
            self.resource_id = None
            if not self._is_not_there(error):
                raise
            is_there = False
        if not is_there:
            self.resource_id = None
            raise exception.StackValidationFailed(
                message=_('Invalid external resource: Resource %(id)s (%(type)s) can not be found.')
                % {'id': self.external_id, 'type': self.type()})

    def _is_not_there(self, error: Exception) -> bool:
        return (isinstance(error, exception.EntityNotFound | exception.ResourceNotAvailable)
                or (self.default_client_name is not None and bool(self.client_plugin().is_not_found(error))))

    def _place(self, section: str = '') -> tuple[str, ...]:
        """Return the path of the resource, or of a section of it, in its template, with the keys of its format."""
        keys = getattr(getattr(self.stack, 't', None), 'keys', None)
        resources = getattr(keys, 'resources', 'resources')
        return (resources, self.name, getattr(keys, section, section)) if section else (resources, self.name)

    def _at(self, section: str, check: Callable[[], object]) -> None:
        """Run `check`; a StackValidationFailed gets the path of the resource's section before its own."""
        try:
            check()
        except exception.StackValidationFailed as error:
            raise exception.StackValidationFailed(
                error=error.error, path=[*self._place(section), *error.path], message=error.error_message)

    def _constraint_lookup(self) -> CustomLookup:
        from heatlite.engine.clients import constraint_cache
        from heatlite.engine.types import registry
        return constraint_cache.lookup(registry.current().constraint, self.context, self._is_made_here)
