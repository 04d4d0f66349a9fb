"""Environments: what a user sends along with a template."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_EVENT_SINKS, USUAL, Limits, too_large
from heatlite.language import document as documents
from heatlite.language import masking, registry_checks
from heatlite.language import registry as registries
from heatlite.language.constraints import shown
from heatlite.language.kind_names import kind_name
from heatlite.language.registry import FoundType, Registry

PARAMETERS, DEFAULTS, REGISTRY, ENCRYPTED, SINKS, STRATEGIES = SECTIONS = (
    'parameters', 'parameter_defaults', 'resource_registry', 'encrypted_param_names', 'event_sinks',
    'parameter_merge_strategies')
EMPTY_REGISTRY = Registry({})


class EnvironmentError_(ValueError):
    """The environment cannot be parsed; the text follows after `Environment not in valid format: `.

    `line` and `column` count from 1, None if the place is unknown; `path` leads to the wrong section.
    """

    def __init__(self, text: str, line: int | None = None, column: int | None = None,
                 path: tuple[str, ...] = ()) -> None:
        self.line, self.column, self.path = line, column, path
        super().__init__(text)


def read(source: object, limits: Limits = USUAL) -> dict[str, Any]:
    """Return the sections of an environment as given, validated. Raises ValueError, RequestLimitExceeded."""
    if source is None or source == '':
        return {}
    if isinstance(source, str):
        if 0 <= limits.max_size < len(source):
            raise too_large(len(source), limits.max_size)
        try:
            document = documents.read(source, '', limits)
        except documents.DocumentError as error:
            text = str(error).removeprefix('Error parsing template  ')
            raise EnvironmentError_(text, error.line, error.column) from None
        if document is None:
            return {}
    else:
        document = documents.check_size(source, limits)
    if not isinstance(document, Mapping):
        raise EnvironmentError_(_('The environment is not a valid YAML mapping data type.'))
    sections: dict[str, object] = {}
    for name, content in document.items():
        if name not in SECTIONS:
            raise EnvironmentError_(_('environment has wrong section "%s"') % name, path=(str(name),))
        if content is None:
            raise EnvironmentError_(_('environment has empty section "%s"') % name, path=(str(name),))
        wanted = list if name in (ENCRYPTED, SINKS) else Mapping
        if name in (DEFAULTS, ENCRYPTED, SINKS) and not content:
            content = {} if wanted is Mapping else []           # some programs write an empty map as a list
        if not isinstance(content, wanted):
            raise EnvironmentError_(_('The environment section "%(name)s" must be a %(kind)s, not %(found)s') % {
                'name': name, 'kind': 'list' if wanted is list else 'map', 'found': kind_name(content)},
                path=(name,))
        if name == ENCRYPTED and not all(isinstance(each, str) for each in content):
            raise EnvironmentError_(_('The environment section "%s" must be a list of names') % name, path=(name,))
        sections[name] = content
    return sections


def parse(source: str | Mapping[str, object] | None, parameters: Mapping[str, object] | None = None,
          limits: Limits = USUAL) -> dict[str, object]:
    """All sections, with the request's `parameters` merged over those of the environment.

    Raises HTTPBadRequest with the text that clients expect.
    """
    try:
        given = read(source, limits)
    except EnvironmentError_ as error:
        raise exception.HTTPBadRequest(_('Environment not in valid format: %s') % error) from None
    return with_parameters(given, parameters)


def with_parameters(given: Mapping[str, object], parameters: Mapping[str, object] | None = None) -> dict[str, Any]:
    """`given` with empty sections for absent ones and `parameters` merged over its own."""
    sections: dict[str, Any] = {
        PARAMETERS: {}, DEFAULTS: {}, REGISTRY: {}, ENCRYPTED: [], SINKS: []} | dict(given)
    if parameters:
        sections[PARAMETERS] = {**sections[PARAMETERS], **parameters}
    return sections


class Environment:
    """The environment of one stack, on top of the operator's registry.

    The constructor raises for wrong hooks, restrictions and registry entries.
    """

    def __init__(self, sections: Mapping[str, Any] | None = None, operator: Registry = EMPTY_REGISTRY) -> None:
        given = sections or {}
        self.parameters: dict[str, object] = dict(given.get(PARAMETERS) or {})
        self.parameter_defaults: dict[str, object] = dict(given.get(DEFAULTS) or {})
        self.encrypted_param_names: list[str] = list(given.get(ENCRYPTED) or [])
        self.hidden_values: list[str] = list(given.get(masking.VALUES) or [])      # in nested stacks only
        self.event_sinks: list[Mapping[str, object]] = list(given.get(SINKS) or [])
        self.are_sinks_accepted = False         # they are those of the stored environment, or of the parent stack
        registry_checks.check_entries(given.get(REGISTRY) or {})
        self.operator = operator
        self.registry = Registry(given.get(REGISTRY) or {}, operator)
        # As it is applied: stored and shown with what null removes, an entry would return with the next request.
        self.resource_registry: dict[str, object] = self.registry.entries

    def find(self, type_name: str, resource_name: str | None = None) -> FoundType:
        """Return what a type name is mapped to. Raises StackValidationFailed."""
        return self.registry.find(type_name, resource_name)

    def document(self) -> dict[str, object]:
        """Return the document for storage: all sections that `Environment` accepts."""
        inherited = {masking.VALUES: self.hidden_values} if self.hidden_values else {}
        return {**self.shown(), ENCRYPTED: self.encrypted_param_names, **inherited}

    def shown(self) -> dict[str, Any]:
        """Return the user environment for clients; hidden values are not masked here."""
        return {REGISTRY: {registries.RESOURCES: {}, **self.resource_registry},
                PARAMETERS: self.parameters, DEFAULTS: self.parameter_defaults, SINKS: self.event_sinks}

    # --- Heat's names, for plug-ins ---------------------------------------------------------------------------

    @property
    def params(self) -> dict[str, object]:
        return dict(self.parameters)

    @property
    def param_defaults(self) -> dict[str, object]:
        return dict(self.parameter_defaults)

    def user_env_as_dict(self) -> dict[str, object]:
        """As `shown`."""
        return self.shown()

    def env_as_dict(self) -> dict[str, object]:
        return {**self.shown(), ENCRYPTED: self.encrypted_param_names}

    # --- what the registry says of a resource -------------------------------------------------------------------

    def hooks(self, resource_name: str, hook: str) -> bool:
        return hook in registries.words_of(self.resource_registry, resource_name, registries.HOOKS)

    def restricted_actions(self, resource_name: str) -> list[str]:
        """Return the restricted actions of a resource, sorted: `update`, `replace`."""
        return registries.words_of(self.resource_registry, resource_name, registries.RESTRICTED)

    def drift_policy(self, resource_name: str, type_name: str) -> str:
        """Return what is to be done about the drift of a resource: one of `registry.DRIFT_POLICIES`."""
        return registries.drift_policy(self.resource_registry, resource_name, type_name)

    def import_of(self, resource_name: str) -> Mapping[str, str] | None:
        """Return the object that is to be imported into a resource: {id} or {name, tag}; None without an import."""
        return registries.import_of(self.resource_registry, resource_name)

    def has_imports(self) -> bool:
        """Whether anything is to be imported, here or in a nested stack."""
        return registries.has_imports(self.resource_registry.get(registries.RESOURCES))

    def has_hooks(self) -> bool:
        """Whether any resource may have a hook; lets an engine skip the check."""
        return bool(self.resource_registry.get(registries.RESOURCES))

    def child(self, parameters: Mapping[str, object], resource_name: str, used: tuple[str, ...] = (),
              inherited: Mapping[str, object] | None = None) -> Environment:
        """Return the environment of the nested stack of a resource.

        `used`: `FoundType.path` of its type; `inherited`: what is hidden in it (language.masking).
        """
        made = Environment({
            PARAMETERS: parameters, DEFAULTS: self.parameter_defaults, SINKS: self.event_sinks,
            REGISTRY: registries.for_child(self.resource_registry, resource_name, used),
            **(inherited or {})}, self.operator)
        made.are_sinks_accepted = True
        return made

    def diagnostics(self, sink_error: Callable[[Mapping[str, object]], str]) -> Iterator[exception.HeatException]:
        """Yield the errors of event sinks, unless they were accepted before, perhaps by an earlier release.

        `sink_error`: what is wrong with one that has a type; '' if nothing is."""
        if self.are_sinks_accepted:
            return
        if len(self.event_sinks) > MOST_EVENT_SINKS:
            yield exception.StackValidationFailed(message=_(
                'The environment has %(count)d event sinks, and may have at most %(limit)d') % {
                'count': len(self.event_sinks), 'limit': MOST_EVENT_SINKS})
            return
        for sink in self.event_sinks:
            if not isinstance(sink, Mapping) or not isinstance(sink.get('type'), str):
                yield exception.StackValidationFailed(
                    message=_('An event sink must be a map with a type: %s') % shown(sink))
            elif (wrong := sink_error(sink)):
                yield exception.StackValidationFailed(message=wrong)
