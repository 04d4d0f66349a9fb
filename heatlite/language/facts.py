"""Facts of resource types that checks of templates need; the engine passes them in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from heatlite.common import exception
from heatlite.language.constraints import CustomLookup
from heatlite.language.schema import Schema
from heatlite.language.translation import TranslationRule

if TYPE_CHECKING:
    from heatlite.language.definition import DefinedResource
    from heatlite.language.environment import Environment

SNAPSHOTS = frozenset({'Delete', 'Retain', 'Snapshot'})
NO_SNAPSHOTS = frozenset({'Delete', 'Retain'})

OwnCheck = Callable[['DefinedResource', Mapping[str, object]], Iterable[exception.HeatException]]
Rules = Callable[['DefinedResource', Mapping[str, object]], Sequence[TranslationRule]]
Nested = Callable[['DefinedResource', Mapping[str, object]], 'Mapping[str, object] | None']
NestedAt = Callable[['DefinedResource', Mapping[str, object]], 'tuple[str, Mapping[str, object]] | None']


class NotAtHand(exception.StackValidationFailed):
    """A template is not at hand, which is no fault of the resource that uses it: nothing is said of the resource."""


@dataclass(frozen=True)
class TypeFacts:
    """The facts of one type that checks of templates need.

    `own_check`: the type's own validation, given the definition and its values (None where unknown);
    `own_check_is_pure`: it depends on nothing else. `nested`: for a group, the document of its members' template for
    such values; None when there is none (yet). `nested_at`: for a type that is a stack of the template at a URL: (URL,
    parameters) for such values; None while the URL is unknown. `has_members`: it is a stack of members. `needs`: names
    of resources that the type implicitly depends on, from all definitions of the stack. `available`: raises
    ResourceTypeUnavailable when the type's service is missing. `check_external`: raises StackValidationFailed when
    there is no object with the `external_id` of a resource.
    """

    name: str
    properties: Mapping[str, Schema]
    attributes: Mapping[str, str | None] = field(default_factory=dict)     # name -> type, None: any
    update_policy: Mapping[str, Schema] = field(default_factory=dict)
    class_name: str = ''
    description: str = ''
    accepts_any_property: bool = False
    accepts_any_attribute: bool = False
    deletion_policies: frozenset[str] = NO_SNAPSHOTS
    hidden: bool = False
    hidden_attributes: frozenset[str] = frozenset()
    strict_dependency: bool = True
    rules: Rules | None = None
    own_check: OwnCheck | None = None
    own_check_is_pure: bool = False
    nested: Nested | None = None
    nested_at: NestedAt | None = None
    has_members: bool = False
    needs: Callable[[DefinedResource], Iterable[str]] | None = None
    available: Callable[[], None] | None = None
    check_external: Callable[[DefinedResource], None] | None = None

    def has_attribute(self, name: str) -> bool:
        return self.accepts_any_attribute or name in self.attributes


class TypeCatalog(Protocol):
    """Looks up facts of types.

    Type names are looked up in `environment` (`Environment.find`), whose operator's registry holds the catalog's own
    objects.
    """

    @property
    def lookup(self) -> CustomLookup | None:
        """Custom constraints; None to skip them."""

    def sink_error(self, sink: Mapping[str, object], /) -> str:
        """Return what is wrong with an event sink of an environment, which has a type; '' if nothing is."""

    def facts(self, type_name: str, resource_name: str | None, environment: Environment) -> TypeFacts:
        """Facts of a type that is not a template. Raises StackValidationFailed for an unknown type."""

    def fetch(self, template_name: str, by_operator: bool) -> str:
        """Fetch the text of a template that is not among the files. Raises StackValidationFailed, NotAtHand.

        `by_operator`: an entry of the operator's registry names it, so it may be a file of the host.
        """
