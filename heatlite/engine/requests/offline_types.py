"""Checks resources without any service, by the packed facts and by each type's own `validate`.

The class of a type is imported when a template uses it. Errors of a check that tried to call a service are ignored.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine.resources import packed_types
from heatlite.language import custom_constraints
from heatlite.language.definition import DefinedResource, StackDefinition
from heatlite.language.environment import Environment
from heatlite.language.facts import NotAtHand, TypeFacts
from heatlite.language.translation import RESOLVE, TranslationRule

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resource import Resource
    from heatlite.engine.types.draft import DraftStack

LOG = logging.getLogger(__name__)


CLOUD = _('only the cloud can check this')
REMOTE = ('http://', 'https://')           # the service fetches such templates, and so does the client


def needs_cloud(error: exception.HeatException) -> bool:
    """Whether an error of `OfflineTypes(ask=True)` says that the cloud must be asked."""
    return CLOUD in str(error)


def _ask(name: str, value: object) -> None:
    raise ValueError(f'{name} "{value}": {CLOUD}')


class OfflineTypes(packed_types.PackedTypes):
    """A `language.facts.TypeCatalog`. `ask`: whatever needs a service is an error (`needs_cloud`), and passes else;
    `unread`: URLs of templates whose errors are reported elsewhere."""

    def __init__(self, *, ask: bool = False, unread: Container[str] = ()) -> None:
        super().__init__()
        self.ask = ask
        self._unread = unread
        self._kinds: dict[type[Resource], type[Resource]] = {}
        self._drafts: dict[int, tuple[StackDefinition, DraftStack]] = {}

    def lookup(self, name: str) -> custom_constraints.PureConstraint | None:
        if self.ask and not self.is_pure(name):
            return custom_constraints.PureConstraint(functools.partial(_ask, name))
        return super().lookup(name)

    def fetch(self, template_name: str, by_operator: bool) -> str:
        if template_name in self._unread:
            raise NotAtHand(message=template_name)
        if template_name.startswith(REMOTE):
            raise (exception.StackValidationFailed if self.ask else NotAtHand)(message=f'{template_name}: {CLOUD}')
        return super().fetch(template_name, by_operator)

    def facts(self, type_name: str, resource_name: str | None, environment: Environment) -> TypeFacts:
        found = super().facts(type_name, resource_name, environment)
        if found.own_check is not None:
            return found
        name = environment.find(type_name, resource_name).target.name
        self._facts[name] = replace(found, own_check=lambda definition, values: self._refused(name, definition))
        return self._facts[name]

    def _refused(self, name: str, definition: DefinedResource) -> Iterable[exception.HeatException]:
        from heatlite.engine.resource import Resource  # loaded for types that check themselves
        from heatlite.engine.types import registry  # loaded for types that check themselves
        try:
            kind = registry.current().resolve(name, '')
            if kind.validate is Resource.validate or getattr(kind, 'accepts_anything', False):
                return []
            draft = self._draft(definition.owner)
            draft.context.asked = False
            text = draft.make(self._alone(kind), definition).validate()
            errors: list[exception.HeatException] = [exception.StackValidationFailed(message=text)] if text else []
        except exception.HeatException as error:
            errors = [error]
        except Exception as error:                  # the type took an unknown value for a real one
            LOG.debug('Type %s cannot check %s: %s', name, definition.name, error)
            return []
        if self._draft(definition.owner).context.asked:
            return [exception.StackValidationFailed(message=f'{name}: {CLOUD}')] if self.ask else []
        return errors

    def _alone(self, resource_class: type[Resource]) -> type[Resource]:
        """Return a subclass of the type that assumes that its service exists, and never resolves names by it."""
        def translation_rules(resource: Resource, given: Properties) -> list[TranslationRule]:
            return [rule for rule in resource_class.translation_rules(resource, given) if rule.rule != RESOLVE]

        if resource_class not in self._kinds:
            self._kinds[resource_class] = type(resource_class.__name__, (resource_class,), {
                '__doc__': resource_class.__doc__, 'translation_rules': translation_rules,
                'check_service_available': classmethod(lambda cls, context, type_name: None),
                '_constraint_lookup': lambda resource: self.lookup})
        return self._kinds[resource_class]

    def _draft(self, definition: StackDefinition) -> Any:
        from heatlite.engine.types import registry  # loaded for types that check themselves
        from heatlite.engine.types.draft import DraftStack  # loads the stack as plug-ins see it
        if id(definition) not in self._drafts:
            draft = DraftStack(definition, _offline_context(), registry.current())
            self._drafts[id(definition)] = definition, draft
        return self._drafts[id(definition)][1]


def _offline_context() -> Any:
    """Return a context without access to services. Its `asked` becomes true if a type tries to call one, also by a
    context for another cloud that is made from it."""
    class OfflineContext(RequestContext):
        asked = False

        @property
        def keystone_session(self) -> NoReturn:
            made.asked = True
            raise exception.ClientNotAvailable(client_name='keystone')

    made = OfflineContext(overwrite=False)
    return made

