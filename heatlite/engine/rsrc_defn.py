"""The definition of one resource in a template, as resource types see it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import function
from heatlite.engine import properties as property_set

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource
    from heatlite.engine.resource_stack import OwnStack
    from heatlite.language.translation import TranslationRule

# Heat's names for the parts of a definition, of which plug-ins make entries of templates (`get_section_name`).
FIELDS = (TYPE, PROPERTIES, METADATA, DELETION_POLICY, UPDATE_POLICY, DEPENDS_ON, DESCRIPTION, EXTERNAL_ID) = (
    'Type', 'Properties', 'Metadata', 'DeletionPolicy', 'UpdatePolicy', 'DependsOn', 'Description', 'external_id')
DELETION_POLICIES = (DELETE, RETAIN, SNAPSHOT) = ('Delete', 'Retain', 'Snapshot')
POLICY_WORDS = {'delete': DELETE, 'retain': RETAIN, 'snapshot': SNAPSHOT,
                DELETE: DELETE, RETAIN: RETAIN, SNAPSHOT: SNAPSHOT}

# Keys of the mapping that old plug-ins index -> attribute; the template formats differ only in the keys.
_OLD_KEYS = {'Type': 'resource_type', 'Properties': '_properties', 'Metadata': '_metadata', 'DependsOn': '_depends',
             'DeletionPolicy': '_deletion_policy', 'UpdatePolicy': '_update_policy', 'Description': 'description'}
_HOT_KEYS = {'type': 'resource_type', 'properties': '_properties', 'metadata': '_metadata', 'depends_on': '_depends',
             'deletion_policy': '_deletion_policy', 'update_policy': '_update_policy', 'description': 'description',
             'external_id': '_external_id', 'condition': '_condition'}
_EVALUATED = {key: name for key, name in _HOT_KEYS.items() if key not in ('type', 'description', 'condition')}
_STORED = tuple(key for key in _HOT_KEYS if key not in ('properties', 'description', 'condition'))


Metadata: TypeAlias = dict[str, object]
"""The metadata of a resource: JSON that templates and signals give. What is in it, their authors and the type say."""


class ResourceDefinition(Mapping[str, Any]):
    """The definition of one resource. Its parts may contain functions; `evaluate(part)` resolves them on reading.

    The engine adds results of its own analysis: `requires`, names of the resources it depends on; `references(name)`,
    the attributes of that resource it reads; `deferred`, properties whose value depends on resources that do not exist
    yet. Old plug-ins read it like a mapping with the keys `Type`, `Properties`, `Metadata`...
    """

    __slots__ = ('_condition', '_deletion_policy', '_depends', '_external_id', '_metadata', '_properties',
                 '_references', '_rules', '_update_policy', 'deferred', 'description', 'evaluate', 'name', 'requires',
                 'resource_type')
    DELETION_POLICIES = (DELETE, RETAIN, SNAPSHOT) = DELETION_POLICIES

    def __init__(self, name: str, resource_type: str, properties: Mapping[str, object] | None = None,
                 metadata: object = None, depends: object = None, deletion_policy: object = None,
                 update_policy: Mapping[str, object] | None = None, description: str | None = None,
                 external_id: object = None, condition: object = None, *,
                 evaluate: Callable[[object], Any] = function.resolve, requires: Collection[str] | None = None,
                 references: Callable[[str], Collection[object]] | None = None,
                 deferred: frozenset[str] = frozenset()) -> None:
        self.name = name
        self.resource_type = resource_type
        self.description = description or ''
        self.evaluate = evaluate
        self.requires = requires
        self.deferred = deferred
        self._properties = properties
        self._metadata = metadata
        self._depends = depends
        self._deletion_policy = deletion_policy
        self._update_policy = update_policy
        self._external_id = external_id
        self._condition = condition
        self._references = references
        self._rules: tuple[Sequence[TranslationRule], bool] = ((), True)

    # --- parts --------------------------------------------------------------------------------------------

    def properties(self, schema: Mapping[str, object],
                   context: RequestContext | None = None) -> property_set.Properties:
        found = property_set.Properties(schema, self._properties or {}, self.evaluate, self.name, context,
                                        section='Properties', rsrc_description=self.description or None,
                                        deferred=self.deferred)
        rules, client_resolve = self._rules
        if rules:
            found.update_translation(rules, client_resolve)
        return found

    def update_policy(self, schema: Mapping[str, object],
                      context: RequestContext | None = None) -> property_set.Properties:
        return property_set.Properties(schema, self._update_policy or {}, self.evaluate, self.name, context,
                                       section='UpdatePolicy')

    def metadata(self) -> Metadata:
        return self.evaluate(self._metadata) or {} if self._metadata is not None else {}

    def deletion_policy(self) -> str:
        """Return Delete, Retain or Snapshot: Retain if it has an external id. An unknown one is returned unchanged."""
        if self.external_id() is not None:
            return RETAIN
        policy = self.evaluate(self._deletion_policy) if self._deletion_policy is not None else None
        return DELETE if policy is None else str(POLICY_WORDS.get(policy, policy))

    def external_id(self) -> str | None:
        return self.evaluate(self._external_id) if self._external_id is not None else None

    def condition(self) -> object:
        return self._condition

    def set_translation_rules(self, rules: Sequence[TranslationRule] | None = None,
                              client_resolve: bool = True) -> None:
        self._rules = (rules or (), client_resolve)

    # --- dependencies -------------------------------------------------------------------------------------

    def explicit_dependencies(self) -> list[str]:
        """Return the names in depends_on."""
        depends = self.evaluate(self._depends) if self._depends is not None else None
        return [depends] if isinstance(depends, str) else list(depends or ())

    def dependencies(self, stack: OwnStack) -> Iterator[Resource]:
        """Return the resources of `stack` it depends on. Raises InvalidTemplateReference."""
        if self.requires is not None:
            return (stack[name] for name in self.requires)

        def explicit() -> Iterator[Resource]:
            for name in self.explicit_dependencies():
                if name not in stack:
                    raise exception.InvalidTemplateReference(resource=name, key=self.name)
                yield stack[name]

        return itertools.chain(explicit(), function.dependencies(self._properties, f'{self.name}.Properties'),
                               function.dependencies(self._metadata, f'{self.name}.Metadata'))

    def required_resource_names(self) -> set[str]:
        if self.requires is not None:
            return set(self.requires)
        referred = itertools.chain(function.dependencies(self._properties), function.dependencies(self._metadata))
        return {*self.explicit_dependencies(), *(str(getattr(other, 'name', other)) for other in referred)}

    def dep_attrs(self, resource_name: str) -> set[object]:
        """Return the attributes of that resource that it reads: names, or tuples of a name and a path."""
        if self._references is not None:
            return set(self._references(resource_name))
        return set(itertools.chain(function.dep_attrs(self._properties, resource_name),
                                   function.dep_attrs(self._metadata, resource_name)))

    # --- conversions --------------------------------------------------------------------------------------

    def freeze(self, **overrides: Any) -> ResourceDefinition:
        """Return a copy with all functions resolved; `overrides`: arguments of the constructor to replace."""
        def plain(name: str, part: object) -> Any:
            if name in overrides:
                return overrides.pop(name)
            return self.evaluate(part) if part is not None else None

        frozen = ResourceDefinition(
            overrides.pop('name', self.name), overrides.pop('resource_type', self.resource_type),
            plain('properties', self._properties), plain('metadata', self._metadata),
            plain('depends', self._depends), plain('deletion_policy', self._deletion_policy),
            plain('update_policy', self._update_policy), overrides.pop('description', self.description),
            plain('external_id', self._external_id), overrides.pop('condition', None),
            requires=self.requires, references=self._references, deferred=self.deferred)
        if overrides:
            raise TypeError(f'unexpected argument {", ".join(sorted(overrides))}')
        frozen._rules = self._rules
        return frozen

    def reparse(self, stack: OwnStack, template: Any) -> ResourceDefinition:
        """Return a copy with its functions parsed again by `template` in the scope of `stack`."""
        def parsed(part: object) -> Any:
            return template.parse(stack, part) if part is not None else None

        return ResourceDefinition(
            self.name, self.resource_type, parsed(self._properties), parsed(self._metadata), parsed(self._depends),
            parsed(self._deletion_policy), parsed(self._update_policy), self.description, parsed(self._external_id),
            self._condition)

    def validate(self) -> None:
        """Check the functions in its parts. Raises StackValidationFailed."""
        for section, part in (('properties', self._properties), ('metadata', self._metadata),
                              ('deletion_policy', self._deletion_policy), ('update_policy', self._update_policy),
                              ('external_id', self._external_id)):
            function.validate(part, [section])

    def render_hot(self) -> dict[str, object]:
        """Return it as the entry of a HOT template; functions are not resolved."""
        return {key: getattr(self, name) for key, name in _HOT_KEYS.items() if getattr(self, name)}

    def to_stored(self) -> dict[str, object]:
        """Return the part that is stored with the resource, in addition to the properties: plain JSON."""
        frozen = self.freeze()
        return {key: getattr(frozen, _HOT_KEYS[key]) for key in _STORED if getattr(frozen, _HOT_KEYS[key])}

    @classmethod
    def from_stored(cls, name: str, stored: Mapping[str, Any],
                    properties: Mapping[str, object] | None) -> ResourceDefinition:
        """Make the definition last applied from the result of `to_stored`."""
        return cls(name, stored['type'], properties, stored.get('metadata'), stored.get('depends_on'),
                   stored.get('deletion_policy'), stored.get('update_policy'), external_id=stored.get('external_id'))

    # --- comparing ----------------------------------------------------------------------------------------

    def __sub__(self, previous: ResourceDefinition) -> ResourceDefinitionDiff:
        if not isinstance(previous, ResourceDefinition):
            return NotImplemented
        return ResourceDefinitionDiff(previous, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResourceDefinition):
            return NotImplemented
        return self is other or _plain(self) == _plain(other)

    def __hash__(self) -> int:
        return hash(self.resource_type)

    def __repr__(self) -> str:
        return f'<ResourceDefinition {self.name} {self.resource_type}>'

    # --- as the mapping of old plug-ins -------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        attribute = _OLD_KEYS[key]
        part = getattr(self, attribute)
        if not part:
            if key != 'Properties':
                raise KeyError(key)
            return {}                       # nearly all plug-ins index it without a check
        return part if attribute in ('resource_type', 'description') else self.evaluate(part)

    def __iter__(self) -> Iterator[str]:
        return (key for key, attribute in _OLD_KEYS.items() if getattr(self, attribute) or key == 'Properties')

    def __len__(self) -> int:
        return sum(1 for _key in self)


def _evaluated(definition: ResourceDefinition, attribute: str) -> object:
    """Return one part with functions resolved."""
    part = getattr(definition, attribute)
    return definition.evaluate(part) if part is not None else None


def _plain(definition: ResourceDefinition) -> dict[str, object]:
    """Return its parts with functions resolved, without those that are empty."""
    found = {'type': definition.resource_type, 'description': definition.description,
             **{key: _evaluated(definition, name) for key, name in _EVALUATED.items()}}
    return {key: value for key, value in found.items() if value}


class ResourceDefinitionDiff(Mapping[str, object]):
    """The difference between two definitions; false if they are equal.

    It is also the mapping that old plug-ins read: `tmpl_diff['Properties']`, or 'Metadata', 'UpdatePolicy', is the new
    section as a whole if that differs, with functions resolved.
    """

    __slots__ = ('_after', '_metadata', '_properties', '_update_policy')

    def __init__(self, old: ResourceDefinition, new: ResourceDefinition) -> None:
        after = self._after = new.freeze()
        self._properties = (_evaluated(old, '_properties') or {}) != (after._properties or {})
        self._metadata = (_evaluated(old, '_metadata') or {}) != (after._metadata or {})
        self._update_policy = (_evaluated(old, '_update_policy') or {}) != (after._update_policy or {})

    def properties_changed(self) -> bool:
        return self._properties

    def metadata_changed(self) -> bool:
        return self._metadata

    def update_policy_changed(self) -> bool:
        return self._update_policy

    def __bool__(self) -> bool:
        return self._properties or self._metadata or self._update_policy

    # --- as the mapping of old plug-ins -------------------------------------------------------------------

    def _sections(self) -> list[str]:
        changed = {'Properties': self._properties, 'Metadata': self._metadata, 'UpdatePolicy': self._update_policy}
        return [section for section, differs in changed.items() if differs]

    def __contains__(self, section: object) -> bool:
        return section in self._sections()

    def __getitem__(self, section: str) -> object:
        """None if the new definition has no such section."""
        if section not in self:
            raise KeyError(section)
        return self._after.get(section)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections())

    def __len__(self) -> int:
        return len(self._sections())

    def __repr__(self) -> str:
        return f'<ResourceDefinitionDiff {", ".join(self)}>'


def invalid_deletion_policy(policy: object) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=_('Invalid deletion policy "%s"') % policy)
