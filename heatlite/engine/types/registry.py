"""Finds the class of a type: built-in types, plug-ins and environment files of the operator, the user's environment.

language.registry defines names and rules; this module maps them to classes. A module with built-in types is
imported when one of its types is first needed.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log

from heatlite.common import exception, policy, urlfetch
from heatlite.common.context import RequestContext, StoredContext
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.common.whole_imports import whole
from heatlite.engine import support
from heatlite.engine.resources import packed
from heatlite.engine.types import class_options, constraint_classes, listing, plugin_loading, template_extensions
from heatlite.engine.types.constraint_classes import ConstraintMaker
from heatlite.language import registry as language_registry
from heatlite.language.constraints import CustomCheck
from heatlite.language.environment import REGISTRY, Environment
from heatlite.language.template import is_template_name

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource  # which asks this registry
    from heatlite.rpc import messages

LOG = log.getLogger(__name__)

NO_DESCRIPTION = _('No description available')
DESCRIBED = 'heatlite.engine.resources.rest.types'      # has the types whose catalogue entry names no module


class LazyClass:
    """A type whose class is loaded from `module` at the first use."""

    __slots__ = ('_loaded', 'module', 'type_name')

    def __init__(self, type_name: str, module: str) -> None:
        self.type_name = type_name
        self.module = module
        self._loaded: type[Resource] | None = None

    def load(self) -> type[Resource]:
        if self._loaded is None:
            loaded: type[Resource] = whole(self.module).resource_mapping()[self.type_name]
            self._loaded = loaded
        return self._loaded


class TypeRegistry:
    """The operator's resource types and constraints, one registry for a process. Plug-ins may be reloaded at any time:
    code that uses types for some time must use a `frozen()` copy.

    `plugins`: the loaded plug-ins; `failures`: those that could not be loaded.
    """

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        self._conf = conf
        self._entries: dict[str, object] = {}
        self._constraints: dict[str, type[CustomCheck] | CustomCheck | ConstraintMaker | None] = {}
        self._operator: language_registry.Registry | None = None
        self._policy: policy.Policy | None = None
        self._classes: dict[object, type[Resource]] = {}      # class -> the same with the values of the options
        self._levels: weakref.WeakKeyDictionary[object, language_registry.Registry] = weakref.WeakKeyDictionary()
        self.failures: list[plugin_loading.LoadFailure] = []
        self.plugins = plugin_loading.PluginDefinitions()

    # --- filling ------------------------------------------------------------------------------------------

    def register(self, name: str, value: object) -> None:
        """Add a type. `value`: a class, a LazyClass, or the name of another type or template. A later entry replaces an
        earlier one."""
        self._log_change(name, value)
        self._entries[name] = value
        self._operator = None

    def _log_change(self, name: str, value: object) -> None:
        old = self._entries.get(name)
        if old is not None and old != value:
            LOG.warning('Changing %s from %s to %s', name, _shown(old), _shown(value))
        status = getattr(value, 'support_status', None)
        if status is not None and status.status != support.SUPPORTED and status.message:
            LOG.warning('%s: %s', name, status.message)

    def register_constraint(self, name: str, value: type[CustomCheck] | CustomCheck) -> None:
        self._constraints[name] = value

    def load_environment(self, sections: Mapping[str, Any]) -> None:
        """Add the registry of an operator's environment; ignores its other sections. null removes an entry,
        `Prefix*: null` all with that prefix."""
        given = sections.get(REGISTRY) or {}
        for name, value in given.items():
            if value is not None and name != language_registry.BASE_URL and not isinstance(value, Mapping):
                self._log_change(name, value)
        self._entries = language_registry.layered(self._entries, given)
        self._operator = None

    def load_plugins(self) -> None:
        """Load template versions and functions of packages, modules of `plugin_dirs`, then files of `environment_dir`.
        Broken ones are logged and left out."""
        template_extensions.install()
        self._take_plugins(None)

    def reload_plugins(self) -> None:
        """Load them again from disk; of a broken one the former version stays. Frozen copies do not change."""
        fresh = _built_in(self._conf)
        fresh._take_plugins(self.plugins)
        self._entries, self._constraints, self._operator = fresh._entries, fresh._constraints, None
        self._classes = {}                      # those of the former plug-ins may go
        self.plugins, self.failures = fresh.plugins, fresh.failures

    def _take_plugins(self, former: plugin_loading.PluginDefinitions | None) -> None:
        conf = self._conf or cfg.CONF
        found = plugin_loading.load(conf.plugin_dirs, former=former)
        built_in = dict(self._entries)
        for name, value in found.types.items():
            self.register(name, value)
        for name, value in found.constraints.items():
            self.register_constraint(name, value)
        plugin_loading.environments(conf.environment_dir, found, former)
        for sections in found.environments.values():
            self.load_environment(sections)
        self._leave_out_unresolved(found, built_in, former)
        self.plugins, self.failures = found, found.failures

    def _leave_out_unresolved(self, definitions: plugin_loading.PluginDefinitions, built_in: Mapping[str, object],
                              former: plugin_loading.PluginDefinitions | None) -> None:
        """Remove names of plug-ins that lead to no type; their former or built-in meaning applies. Warn about those of
        environments, which stay: there they may be for types that another installation has."""
        wanted = dict(definitions.types)
        left_out = plugin_loading.leave_out_unresolved(definitions, self.operator)
        if former is not None:
            definitions.keep(former)
        for name in left_out:
            if self._entries.get(name) is wanted[name]:     # no environment has replaced it
                other = definitions.types.get(name, built_in.get(name))
                self.load_environment({REGISTRY: {name: other}})
        for file, sections in definitions.environments.items():
            entries = sections.get(REGISTRY)
            for name, target in entries.items() if isinstance(entries, Mapping) else ():
                if isinstance(target, str) and name != language_registry.BASE_URL:
                    error = plugin_loading.unresolved(name, target, self.operator)
                    if error is not None:
                        LOG.warning('%(name)s in the environment %(file)s means no type: %(error)s',
                                    {'name': name, 'file': file, 'error': error})

    def frozen(self) -> TypeRegistry:
        """Return a copy that later loading does not change."""
        _ = self.operator                       # made once for all copies: environments compare it by identity
        return copy.copy(self)

    # --- asking -------------------------------------------------------------------------------------------

    @functools.cached_property
    def limits(self) -> Limits:
        """The limits of new templates."""
        return Limits.of(self._conf or cfg.CONF)

    @property
    def action_timeout(self) -> int:
        """Seconds of an action of a stack without a timeout of its own, as types see it."""
        return int((self._conf or cfg.CONF).stack_action_timeout)

    @property
    def operator(self) -> language_registry.Registry:
        """The same entries as a registry of the language, on which environments of users are based."""
        if self._operator is None:
            self._operator = language_registry.Registry(self._entries)
        return self._operator

    def resolve(self, type_name: object, resource_name: str, environment: Environment | None = None) -> type[Resource]:
        """Return the class for a resource. Raises StackValidationFailed if the type is missing, no text, or unknown.

        `environment`: the user's; its registry takes precedence over the operator's.
        """
        return self._class_of(self._level(environment).find(_checked_name(type_name, resource_name), resource_name))

    def _level(self, environment: Environment | None) -> language_registry.Registry:
        """Return the user's entries combined with these. Environments are values, so the result is cached for each."""
        entries = getattr(environment, 'resource_registry', None)
        if environment is None or not entries:
            return self.operator
        if environment.operator is self.operator:
            return environment.registry
        known = self._levels.get(environment)
        if known is None or known.behind is not self.operator:
            known = self._levels[environment] = language_registry.Registry(entries, self.operator)
        return known

    def _class_of(self, found_type: language_registry.FoundType) -> type[Resource]:
        if found_type.is_template:
            return template_class(found_type)
        kind = found_type.target.load() if isinstance(found_type.target, LazyClass) else found_type.target
        if kind not in self._classes:
            self._classes[kind] = class_options.with_options(kind, self._conf or cfg.CONF)
        return self._classes[kind]

    def meaning(self, type_name: str, resource_name: str, environment: Environment | None = None) -> str:
        """Return the last name in the chain of mappings of a type name. Raises StackValidationFailed."""
        return self._level(environment).find(type_name, resource_name).type_name

    def get_class(self, type_name: str, resource_name: str | None = None) -> type[Resource]:
        return self.resolve(type_name, resource_name or '')

    def implements(self, resource_class: object, type_name: str, environment: Environment | None = None) -> bool:
        """Whether `type_name` resolves to that class, with whatever options. False for a name of a template: all
        templates have one class."""
        try:
            found = self._level(environment).find(_checked_name(type_name, ''), '')
        except exception.StackValidationFailed:
            return False
        return not found.is_template and class_options.without_options(
            self._class_of(found)) is class_options.without_options(resource_class)

    def constraint(self, name: str) -> type[CustomCheck] | CustomCheck | None:
        """Return a custom constraint, class or instance; None if it is unknown."""
        if name not in self._constraints:
            self._constraints[name] = constraint_classes.find(name)
        found = self._constraints[name]
        return found.make() if isinstance(found, ConstraintMaker) else found

    get_constraint = constraint

    def classes(self) -> Iterator[tuple[str, type[Resource]]]:
        """Yield (name, class) of every type that is a class, in the order of registration, without mapped names."""
        for name, value in list(self._entries.items()):
            if not isinstance(value, str | Mapping) and not name.endswith('*'):
                yield name, self._class_of(language_registry.FoundType(value))

    # --- requests about types: (context, message) -> answer --------------------------------------------------
    # Source: docs/spec/rest.rst, "Resource types".

    def list_types(self, context: RequestContext, message: messages.ListResourceTypes) -> list[object]:
        return listing.list_types(self._listed(), context, message, self.allows, self._described)

    def schema(self, context: RequestContext, message: messages.ResourceSchema) -> dict[str, object]:
        return listing.schema(self._for_show(message.type_name), context, message, self.allows)

    def template(self, context: RequestContext, message: messages.GenerateTemplate) -> dict[str, object]:
        return listing.template(self._for_show(message.type_name), message)

    def allows(self, context: RequestContext, type_name: str) -> bool:
        """Whether the policy lets the caller use a type.

        Stored credentials have no roles and domains: those of their login count, for which Keystone is asked if there
        is a rule for the type. Without a login, which stacks have that call no service, they may use what the request
        was allowed to."""
        rules = self._rules()
        if not isinstance(context, StoredContext):
            return rules.allows_type(context, type_name)
        if not context.can_log_in or not rules.limits_type(type_name):
            return True
        caller = context.as_logged_in
        caller.is_admin = rules.is_admin(caller)
        return rules.allows_type(caller, type_name)

    def enforce(self, context: RequestContext, rule: str) -> None:
        """Raise Forbidden unless the caller passes a rule of the policy."""
        self._rules().enforce(context, rule)

    def _listed(self) -> Iterator[tuple[str, type[Resource]]]:
        """Yield (name, class) as `classes`, with the types that the operator maps to templates, which are not read."""
        for name, value in list(self._entries.items()):
            if name.endswith('*') or name == language_registry.BASE_URL or isinstance(value, Mapping):
                continue
            if not isinstance(value, str) or is_template_name(value):
                yield name, self._class_of(language_registry.FoundType(value))

    def _described(self, name: str, resource_class: type[Resource]) -> str:
        """Return the description of a type. That of a template is in the template, which is read."""
        if not isinstance(self._entries.get(name), str):
            return resource_class.getdoc()
        try:
            return self._for_show(name).getdoc()
        except exception.HeatException:             # the answer about its schema says why
            return NO_DESCRIPTION

    def check_access_rules(self) -> None:
        """Raise Error, naming the file, if the files with access rules cannot be read."""
        self._rules()

    def _rules(self) -> policy.Policy:
        if self._policy is None:
            self._policy = policy.Policy(self._conf or cfg.CONF)
        return self._policy

    def allows_wanted(self, context: RequestContext, type_name: str, resource_name: str,
                      environment: Environment | None) -> bool:
        """As `allows`, also for the type to which the user's environment maps the name. Mappings of the operator are
        always allowed."""
        found = self._level(environment).find(type_name, resource_name)
        return self.allows(context, type_name) and (
            not found.is_user or found.is_template or self.allows(context, found.type_name))

    def _for_show(self, type_name: str) -> type[Resource]:
        """Return the class of a registered name. A URL is none: the caller would choose what is read."""
        try:
            found = self.operator.find(type_name, '')
            if not found.is_template:
                return self._class_of(found)
            if not found.by_operator:
                raise exception.EntityNotFound(entity='Resource Type', name=type_name)
            from heatlite.engine.resources import template_resource  # types import this module
            return template_resource.shown(found, self.limits)
        except exception.StackValidationFailed:
            raise exception.EntityNotFound(entity='Resource Type', name=type_name)
        except urlfetch.URLFetchError:
            raise exception.InvalidGlobalResource(type_name=type_name)


def _checked_name(type_name: object, resource_name: str) -> str:
    """Return the name of a type. Raises StackValidationFailed if it is none."""
    if type_name is None:
        raise exception.StackValidationFailed(message=_('Resource "%s" has no type') % resource_name)
    if not isinstance(type_name, str):
        raise exception.StackValidationFailed(message=_('Resource "%s" type is not a string') % resource_name)
    if not type_name:
        raise exception.StackValidationFailed(
            message=_('Non-empty resource type is required for resource "%s"') % resource_name)
    return type_name


def _shown(value: Any) -> str:
    if isinstance(value, LazyClass):
        return value.module
    return str(value) if isinstance(value, str | Mapping) else f'{value.__module__}.{value.__name__}'


def template_class(found_type: language_registry.FoundType) -> type[Resource]:
    """Return the class of resources whose type is a template. Each instance finds its template by its stack."""
    from heatlite.engine.resources.template_resource import TemplateResource  # types import this module
    return TemplateResource


# --- the registry of this process ----------------------------------------------------------------------------

_current: TypeRegistry | None = None


def create(conf: cfg.ConfigOpts | None = None) -> TypeRegistry:
    """Make a registry with the built-in types, and use it as the registry of this process."""
    found = _built_in(conf)
    use(found)
    return found


def _built_in(conf: cfg.ConfigOpts | None) -> TypeRegistry:
    found = TypeRegistry(conf)
    modules = packed.modules()
    for name in packed.names():
        found.register(name, LazyClass(name, modules.get(name, DESCRIBED)))
    for name, target in packed.aliases().items():
        found.register(name, target)
    found.register('OS::Heat::ScaledResource', 'AWS::EC2::Instance')       # members of groups of servers
    return found


def current() -> TypeRegistry:
    """Return the registry of this process, for code that gets none as an argument: plug-ins, constraints."""
    return _current if _current is not None else create()


def use(registry: TypeRegistry | None) -> None:
    global _current
    _current = registry
