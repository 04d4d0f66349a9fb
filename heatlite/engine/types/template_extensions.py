"""Template versions and template functions of installed packages, handed to the language when a program starts.

`heat.templates`, as in Heat: the name is `KEY.VERSION`, such as `heat_template_version.2099-01-01`, the object a class
(compat.template_classes). `heatlite.template_functions`: the name is that of the function, the object a class: a
`Function` as for Heat, or a `language.expression.Call`. It joins all HOT versions from its attribute `since` on (a
date; without it all), and the CFN versions of its attribute `cfn` (dates; without it none).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import ClassVar, TypeVar

from oslo_log import log

from heatlite.common import exception
from heatlite.common.template_format import VERSION_KEYS
from heatlite.engine import function
from heatlite.engine.compat import extensions, template_classes
from heatlite.language import budget as budgets
from heatlite.language import document, versions
from heatlite.language.expression import ABSENT, Call, InvalidCall, Node, Scope

LOG = log.getLogger(__name__)

T = TypeVar('T')


class ExtensionRefused(Exception):
    """An extension that cannot be used; the text is the reason."""


class FunctionCall(Call):
    """Calls a function that was written for Heat. It gets its arguments evaluated, and no stack."""

    __slots__ = ()
    implementation: ClassVar[type[function.Function]]

    def check(self) -> None:
        if not isinstance(self.args, Node):
            self._attempt(lambda: None)

    def validate(self) -> None:
        if not isinstance(self.args, Node):
            self._attempt(lambda: self._made(self.args).validate())

    def result(self, args: object, scope: Scope) -> object:
        value = self._made(args).result()
        if value is Ellipsis:
            return ABSENT
        found = document.clean(function.resolve(value))
        limits = self.home.limits
        budgets.here(limits).make_text(self.name, budgets.ITEM * document.measure(found, limits))
        return found

    def _made(self, args: object) -> function.Function:
        return self.implementation(None, self.name, args)

    def _attempt(self, work: Callable[[], object]) -> None:
        """Raise InvalidCall for arguments that the function refuses."""
        try:
            self._made(self.args)
            work()
        except exception.HeatException:
            raise
        except Exception as error:
            raise InvalidCall(str(error)) from None


def install() -> None:
    """Make the versions and functions of installed packages known to the language. One that cannot be loaded or used is
    logged and left out."""
    rows = list(_usable(extensions.TEMPLATE_FUNCTIONS, row_of))
    versions.extend(rows, _usable(extensions.TEMPLATES, edition_of))


def _usable(kind: str, make: Callable[[str, object], T]) -> Iterator[T]:
    for name, found in extensions.load_named(kind).items():
        try:
            yield make(name, found)
        except Exception as error:
            LOG.error('The extension %s of %s was left out: %s', name, ' or '.join(extensions.namespaces(kind)), error)


def problem(namespace: str, point: EntryPoint) -> Exception | None:
    """Return why an extension that can be loaded cannot be used; None also for other kinds."""
    make = {extensions.TEMPLATES: edition_of, extensions.TEMPLATE_FUNCTIONS: row_of}.get(namespace.partition('.')[2])
    try:
        if make is not None:
            make(point.name, point.load())
    except Exception as error:
        return error
    return None


def row_of(name: str, kind: object) -> versions.FunctionVersions:
    """Return the row of an additional function. Raises ExtensionRefused."""
    if any(row.name == name for row in (*versions.FUNCTIONS, *versions.CONDITION_FUNCTIONS)):
        raise ExtensionRefused(f'{name} is a function of the language')
    since, cfn = getattr(kind, 'since', versions.HOT_DATES[0]), tuple(getattr(kind, 'cfn', ()))
    if since is not None and since not in versions.HOT_DATES:
        raise ExtensionRefused(f'since: there is no version {since}')
    if unknown := set(cfn) - set(versions.BOTH_CFN):
        raise ExtensionRefused(f'cfn: there is no version {min(unknown)}')
    return versions.FunctionVersions(name, call_of(kind), since, cfn=cfn)


def edition_of(name: str, kind: object) -> versions.Edition:
    """Return the version that a class of a plug-in stands for. Raises ExtensionRefused."""
    key, _dot, version = name.partition('.')
    if key not in VERSION_KEYS or not version:
        raise ExtensionRefused(f'its name is not KEY.VERSION with one of the keys {", ".join(VERSION_KEYS)}')
    if versions.is_built_in(name):
        raise ExtensionRefused(f'{name} is a version of the language')
    if not (isinstance(kind, type) and issubclass(kind, template_classes.TemplateVersion) and hasattr(kind, 'edition')):
        raise ExtensionRefused('it is not a subclass of one in heat.engine.hot.template or heat.engine.cfn.template')
    if (base := kind.edition).key != key:
        raise ExtensionRefused(f'its base is a version of {base.key}')
    if changed := template_classes.changes(kind):
        raise ExtensionRefused('it may change functions and condition_functions only, not '
                               f'{", ".join(sorted(changed))}')
    return versions.like(base, version, _calls(kind.functions), _calls(kind.condition_functions))


def _calls(functions: Mapping[str, object]) -> dict[str, type[Call]]:
    return {name: call_of(kind) for name, kind in functions.items()}


def call_of(kind: object) -> type[Call]:
    """Return the class of calls of a function. Raises ExtensionRefused."""
    if isinstance(kind, type) and issubclass(kind, Call):
        return kind
    if not isinstance(kind, type) or not issubclass(kind, function.Function):
        raise ExtensionRefused(f'{kind!r} is not a class of a function')
    if issubclass(kind, function.Macro):
        raise ExtensionRefused(f'{kind.__name__} is a Macro, which heatlite does not have')
    if issubclass(kind, function.Invalid):
        return versions.UnsupportedFunction
    return type(kind.__name__, (FunctionCall,), {'__slots__': (), '__doc__': kind.__doc__, 'implementation': kind})
