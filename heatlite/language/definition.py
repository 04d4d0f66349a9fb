"""Makes the definition of a stack from a template, an environment and files: parameters, resources, outputs.

Everything is lazy: parts are parsed and evaluated at first use, and raise then. `lint.check` checks all of it, in the
order in which clients expect errors.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from heatlite.common import exception, identifier, turns
from heatlite.common.i18n import _
from heatlite.common.limits import USUAL, Limits
from heatlite.common.template_files import Files
from heatlite.language import masking, versions
from heatlite.language import parameters as parameter_definitions
from heatlite.language.budget import Ledger
from heatlite.language.conditions import Conditions
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS, Call, InvalidCall, Parser, condition_holds, requirements
from heatlite.language.kind_names import kind_name
from heatlite.language.masking import Mask
from heatlite.language.outputs import OutputDefinition
from heatlite.language.parameters import Parameters
from heatlite.language.resource_definition import (
    DELETE,
    DELETION_POLICIES,
    FACADE_PARTS,
    RETAIN,
    SNAPSHOT,
    DefinedResource,
    Facade,
    property_error,
)
from heatlite.language.template import Template
from heatlite.language.unknown import is_known

__all__ = ['DELETE', 'DELETION_POLICIES', 'RETAIN', 'SNAPSHOT', 'DefinedResource', 'Facade', 'StackDefinition',
           'StackIdentity', 'build', 'property_error']


@dataclass(frozen=True)
class StackIdentity:
    """The identity of the stack. `id` is None before the stack exists."""

    name: str
    id: str | None
    project_id: str
    region: str | None = None

    @property
    def arn(self) -> str:
        return identifier.HeatIdentifier(self.project_id, self.name, str(self.id)).arn()


@dataclass(frozen=True)
class SharedText:
    """What the text of two definitions has in common. `types`: how many resources of each type the former one has;
    empty if they may be disabled by conditions."""

    same: frozenset[str] = frozenset()              # resources with equal texts
    others: frozenset[str] = frozenset()            # the other resources of both definitions
    types: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.same)


NOTHING_SHARED: Final = SharedText()


class StackDefinition:
    """The desired state of a stack. Also the `EvaluationContext` of its calls: what they use besides the scope."""

    def __init__(self, template: Template, environment: Environment, files: Mapping[str, str],
                 identity: StackIdentity, facade: Facade | None, limits: Limits,
                 assume_unknown: bool = False) -> None:
        self.template = template
        self.environment = environment
        self.files = Files.of(files)
        self.identity = identity
        self.outer = facade
        self.limits = limits
        self.assume_unknown = assume_unknown
        self.left_out: frozenset[str] = frozenset()
        self.is_complete = False                # whether `requires` includes the dependencies that types add
        self.imports: Collection[str] = ()      # paths of resources, of the imports that a request has by itself
        self.ignored_parameters: Collection[str] = ()       # given by a request, not declared, and ignored as by Heat
        self.as_applied = NOTHING_SHARED        # with the definition that was applied, if it is known
        self._compared: tuple[weakref.ref[StackDefinition], SharedText] | None = None
        self.plain: frozenset[str] = frozenset()        # resources that are known to use no functions (language.plain)
        self.edition = template.edition
        self.keys = template.edition.keys
        self.version = template.edition.date
        self.known_attributes: Callable[[str, str], bool | None] | None = None
        self._parser = Parser(self.edition.functions, self)
        self._condition_parser = Parser(self.edition.condition_functions, self, self.edition.outside_conditions)

    # --- parts of the template --------------------------------------------------------------------------------

    @property
    def has_unknown_parameters(self) -> bool:
        """Whether a parameter may be or contain UNKNOWN.

        It has no value, or its value comes from a resource of the parent stack that does not exist yet.
        """
        return self.assume_unknown or self._given_unknown

    @functools.cached_property
    def _given_unknown(self) -> bool:
        return not is_known(self.environment.parameters)

    @property
    def description(self) -> object:
        return self.template.description

    @functools.cached_property
    def parameters(self) -> Parameters:
        """The parameters. Raises InvalidSchemaError for a wrong definition."""
        return self._parameters(parameter_definitions.schemata(self.template.section('parameters'), self.edition))

    def _parameters(self, schemas: Mapping[str, parameter_definitions.ParameterSchema]) -> Parameters:
        pseudo = parameter_definitions.pseudo_parameters(
            self.edition, name=self.identity.name, stack_id=self.identity.id,
            project_id=self.identity.project_id, arn=self.identity.arn)
        return Parameters(schemas, pseudo, self.environment.parameters, self.environment.parameter_defaults,
                          assume_unknown=self.assume_unknown, hidden=self.environment.encrypted_param_names)

    @functools.cached_property
    def mask(self) -> Mask:
        """Hide the values of hidden parameters."""
        return masking.of_documents(self.template.document, self.environment.document())

    def prepare_mask(self) -> None:
        """Make the mask now if log lines use it: no other thread may run while one is written."""
        if self.outer is not None:
            self.mask.prepare()

    def hide_too(self, before: Mask) -> None:
        """Hide values that were hidden before an update as well: history and metadata may still contain them."""
        kept = before.without(self.mask)
        if kept:
            self.environment.hidden_values = [*self.environment.hidden_values, *kept]
            del self.mask
            self.prepare_mask()

    @functools.cached_property
    def ledger(self) -> Ledger:
        """Limits the size of the properties of all resources together."""
        return Ledger(self.limits, len(self.snippets))

    @functools.cached_property
    def outputs_ledger(self) -> Ledger:
        """Limits the size of all outputs together."""
        return Ledger(self.limits, 0)

    def masked(self, text: str) -> str:
        """`text` without the values of hidden parameters of this stack and of those around it."""
        with contextlib.suppress(exception.HeatException):
            text = self.parameters.masked(text)
        return text if self.outer is None else self.outer.masked(self.mask.text(text))

    def forget_wrong_parameters(self) -> None:
        """Replace parameters with a wrong definition by unknown ones, so that the rest can be checked."""
        section = self.template.section('parameters')
        schemas: dict[str, parameter_definitions.ParameterSchema] = {}
        for name, body in section.items() if isinstance(section, Mapping) else ():
            try:
                schemas[name] = parameter_definitions.schema_of(name, body, self.edition)
            except exception.HeatException:
                schemas[name] = parameter_definitions.ParameterSchema(name, 'json', 'map', is_wrong=True)
        self.assume_unknown = True
        self.__dict__['parameters'] = self._parameters(schemas)

    def forget_parts(self, keys: Mapping[str, frozenset[str]]) -> None:
        """Remove wrong parts of resources, by the names of these, so that the rest can be checked."""
        self.__dict__['snippets'] = {
            name: snippet if name not in keys else {
                part: value for part, value in snippet.items() if part not in keys[name]}
            for name, snippet in self.snippets.items()}
        self._forget_resources()

    def leave_out(self, names: frozenset[str]) -> None:
        """Remove wrong resources, so that the rest can be checked. Their names stay known."""
        self.left_out |= names
        self.__dict__['snippets'] = {name: snippet for name, snippet in self.snippets.items() if name not in names}
        self._forget_resources()

    def _forget_resources(self) -> None:
        self._parser.calls = 0                          # all resources are parsed again, and counted again
        for computed in ('resources', 'all_resources', 'resource_names', 'names_by_type'):
            self.__dict__.pop(computed, None)

    @functools.cached_property
    def snippets(self) -> Mapping[str, Mapping[str, object]]:
        """The `resources` section. Raises StackValidationFailed when it is not a map.

        Its values are as written: `check_shape` refuses those that are no maps.
        """
        section = self.template.section('resources')
        if section is None:
            return {}
        if not isinstance(section, Mapping):
            raise exception.StackValidationFailed(
                message=_('The %(section)s section must be a map of resources. Found a %(kind)s instead')
                % {'section': self.keys.resources, 'kind': kind_name(section)})
        return section

    @functools.cached_property
    def resources(self) -> Mapping[str, DefinedResource]:
        """Enabled resources in the order of the template. Raises for an invalid resource and for its condition."""
        type_key, condition = self.keys.type, self.keys.condition
        if all(type(snippet) is dict and type_key in snippet and condition not in snippet
               for snippet in self.snippets.values()):
            return self.all_resources
        return {name: resource for name, snippet in self.snippets.items()
                if self.is_enabled(name, snippet)
                for resource in [self.all_resources[name]]}

    @functools.cached_property
    def all_resources(self) -> Mapping[str, DefinedResource]:
        """All resources, including disabled ones, without a check of their shape."""
        return _Resources(self.snippets, self)

    @functools.cached_property
    def names_by_type(self) -> Mapping[str, list[str]]:
        """The names of enabled resources by the name of their type. Raises as `resources` and `parsed`."""
        found: dict[str, list[str]] = {}
        type_key, snippets, resources = self.keys.type, self.snippets, self.resources
        for name in resources:
            type_name = snippets[name][type_key]
            found.setdefault(type_name if type(type_name) is str else resources[name].type, []).append(name)
        return found

    @functools.cached_property
    def outputs(self) -> dict[str, OutputDefinition]:
        section = self.template.section('outputs')
        if section is None:
            return {}
        if not isinstance(section, Mapping):
            raise exception.StackValidationFailed(
                message=_('The %(section)s section must be a map of outputs. Found a %(kind)s instead')
                % {'section': self.keys.outputs, 'kind': kind_name(section)})
        return {key: OutputDefinition(key, snippet, self) for key, snippet in section.items()}

    def shared_with(self, former: StackDefinition) -> SharedText:
        """Return which resources have the same text as in `former`, and mean the same by it.

        Nothing is shared if the environment or another section differs, or if a condition of a resource may have
        changed: those resources require the same ones as in `former`. Other files, and another resource around the
        stack, count for the resources that use them. Files that are types of resources count for none: such resources
        have stacks of their own. The comparison is made once.
        """
        if self._compared is None or self._compared[0]() is not former:
            self._compared = weakref.ref(former), self._shared_with(former)
        return self._compared[1]

    def _shared_with(self, former: StackDefinition) -> SharedText:
        if self.environment.document() != former.environment.document():
            return NOTHING_SHARED
        apart = {self.edition.sections[name] for name in ('resources', 'outputs')}
        sections = [{key: value for key, value in each.template.document.items() if key not in apart}
                    for each in (self, former)]
        if sections[0] != sections[1]:
            return NOTHING_SHARED
        before, now, condition = former.snippets, self.snippets, self.keys.condition
        others = {name for name, snippet in now.items()
                  if name not in before or (snippet is not before[name] and snippet != before[name])}
        for name in others & before.keys():
            if any(isinstance(each, Mapping) and condition in each for each in (now[name], before[name])):
                return NOTHING_SHARED
        others |= self._using(self._changed_functions(former), now.keys() - others)
        same = frozenset(now.keys() - others)
        others |= before.keys() - now.keys()
        return SharedText(same, frozenset(others), _types(before, self.keys.type, condition))

    def _changed_functions(self, former: StackDefinition) -> list[str]:
        """Return the names of functions whose equal calls may have other values than in `former`."""
        has_other_files, has_other_facade = self.files != former.files, self._facade_parts() != former._facade_parts()
        return [name for name, function in self.edition.functions.items()
                if (function.uses_files and has_other_files) or (function.uses_facade and has_other_facade)]

    def _facade_parts(self) -> list[object]:
        return [] if self.outer is None else [self.outer.part(name) for name in FACADE_PARTS]

    def _using(self, functions: Collection[str], names: Collection[str]) -> set[str]:
        """Return which of the resources `names` may call one of these functions."""
        if not functions:
            return set()
        texts = ((name, str(self.snippets[name])) for name in names)
        return {name for name, text in texts if any(function in text for function in functions)}

    def referenced_attributes(self, name: str) -> frozenset[tuple[Any, ...]]:
        """(attribute, *path) of resource `name` that other resources and outputs use; () is "all attributes"."""
        return self._attributes_used.get(name, frozenset())

    def find_referenced_attributes(self) -> None:
        """Compute what `referenced_attributes` returns, and let others work meanwhile. That method does not: if it
        did, each of many threads that call it at once would compute the same. Raises as `outputs` and `parsed`."""
        if '_attributes_used' not in self.__dict__:
            self.__dict__['_attributes_used'] = self._find_attributes_used(turns.spend)

    @functools.cached_property
    def _attributes_used(self) -> dict[str, frozenset[tuple[object, ...]]]:
        return self._find_attributes_used(lambda: None)

    def _find_attributes_used(self, spend: Callable[[], None]) -> dict[str, frozenset[tuple[object, ...]]]:
        """`spend()`: called for each resource, expression and requirement."""
        used: dict[str, set[tuple[object, ...]]] = {}
        needs, elsewhere = [], []
        for name in self.resources:
            spend()
            if name not in self.plain:
                needs += [need.requirement for need in self.resources[name].needs]
                elsewhere.append(self.resources[name].parsed.update_policy)
        elsewhere += [output.expression for output in self.outputs.values()]
        for expression in elsewhere:
            spend()
            needs += [need for _trail, need in requirements(expression, PLACEHOLDERS)]
        for need in needs:
            spend()
            if need.attribute is not None and isinstance(need.resource, str):
                used.setdefault(need.resource, set()).add(need.attribute)
        return {name: frozenset(attributes) for name, attributes in used.items()}

    # --- shapes and conditions of resources ------------------------------------------------------------------

    def check_shape(self, snippet: object) -> None:
        """Check the shape of one resource. Raises StackValidationFailed."""
        keys, is_hot = self.keys, self.edition.is_hot
        if snippet is not None and not isinstance(snippet, Mapping):
            raise exception.StackValidationFailed(message=(
                _('"resources" must contain a map of resource maps. Found a %s instead') if is_hot
                else _('Resources must contain Resource. Found a %s instead')) % kind_name(snippet))
        if snippet is not None and is_hot:
            for key in snippet:
                if key not in keys.of_resources:
                    raise exception.StackValidationFailed(
                        message=_('"%s" is not a valid keyword inside a resource definition') % key)
        if snippet is None or keys.type not in snippet:
            raise exception.StackValidationFailed(
                message=_('Each resource must contain a type key.') if is_hot
                else _('Each Resource must contain a Type key.'))
        if not snippet[keys.type]:
            raise exception.StackValidationFailed(message=_('Each Resource must contain a Type key.'))
        if is_hot and not self.edition.has(versions.NEWTON):
            early = [key for key in snippet if key in ('condition', 'external_id')]
            if early:
                raise exception.StackValidationFailed(
                    message=_('Invalid keyword(s) inside a resource definition: %s') % ', '.join(early))

    def is_enabled(self, name: str, snippet: Mapping[str, object]) -> bool:
        """Whether the resource's condition holds. Raises for a wrong shape and for an invalid condition."""
        key = self.keys.condition
        if not isinstance(snippet, Mapping) or self.keys.type not in snippet:
            self.check_shape(snippet)
        if key not in snippet or not self.edition.has_conditions:
            return True
        condition = snippet[key]
        try:
            parsed = self.parse_condition(condition)
            if not isinstance(parsed, str | bool | Call):
                raise exception.StackValidationFailed(
                    message=_('Resource %(name)s %(key)s type must be %(wanted)s') % {
                        'name': name, 'key': key,
                        'wanted': 'string_or_boolean' if self.edition.is_hot else 'string or boolean'})
            return condition_holds(self, condition)
        except InvalidCall as misuse:
            raise misuse.at(self.keys.resources, name, key) from None

    # --- as EvaluationContext of calls --------------------------------------------------------------

    @property
    def parser(self) -> Parser:
        return self._parser

    @property
    def mappings(self) -> object:
        return self.template.section('mappings') or {}

    @functools.cached_property
    def resource_names(self) -> frozenset[str]:
        return frozenset(self.resources) | self.left_out

    @functools.cached_property
    def conditions(self) -> Conditions:
        key = self.edition.sections.get('conditions')
        section = self.template.document.get(key, {}) if key else {}
        return Conditions(section, self._condition_parser, key or 'conditions', self.assume_unknown)

    def condition(self, name: object) -> bool:
        return self.conditions.holds(name)

    def parse_condition(self, value: object) -> object:
        return self._condition_parser.parse(value)

    def facade(self, part: str) -> object:
        if self.outer is None:
            raise ValueError(_('There is no parent resource: this stack is not nested'))
        return self.outer.part(part)

    def attribute_exists(self, resource_name: str, attribute: str) -> bool | None:
        return None if self.known_attributes is None else self.known_attributes(resource_name, attribute)


class _Resources(Mapping[str, DefinedResource]):
    """The definitions of resources, each made at its first use: an update looks at few of many."""

    def __init__(self, snippets: Mapping[str, Mapping[str, object]], owner: StackDefinition) -> None:
        self._snippets = snippets
        self._owner = owner
        self._made: dict[str, DefinedResource] = {}

    def __getitem__(self, name: str) -> DefinedResource:
        found = self._made.get(name)
        if found is None:                           # all threads get the same one
            found = self._made.setdefault(name, DefinedResource(name, self._snippets[name], self._owner))
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._snippets

    def __iter__(self) -> Iterator[str]:
        return iter(self._snippets)

    def __len__(self) -> int:
        return len(self._snippets)


def _types(snippets: Mapping[str, Mapping[str, object]], key: str, condition: str) -> Mapping[str, int]:
    """Return how many resources there are of each type; nothing if there are conditions, or texts of a wrong shape."""
    if not all(type(snippet) is dict and condition not in snippet for snippet in snippets.values()):
        return {}
    named = [name for snippet in snippets.values() if isinstance(name := snippet.get(key), str)]
    return Counter(named) if len(named) == len(snippets) else {}


def build(template: Template, environment: Environment, files: Mapping[str, str], identity: StackIdentity, *,
          facade: Facade | None = None, limits: Limits = USUAL,
          assume_unknown: bool = False) -> StackDefinition:
    """Make the definition without checking anything.

    `assume_unknown`: parameters without a value are UNKNOWN instead of missing, conditions on them hold.
    """
    return StackDefinition(template, environment, files, identity, facade, limits, assume_unknown)
