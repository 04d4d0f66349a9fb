"""The classes of template versions that plug-ins subclass: `heat.engine.hot.template` and `heat.engine.cfn.template`.

A class of a plug-in is a version of the language that is like that of its base, with the functions it names. The
sections of templates are read by heatlite.language alone, so a class that changes how they are read is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from heatlite.language import versions
from heatlite.language.versions import Edition

CHANGEABLE = frozenset({'functions', 'condition_functions'})


class TemplateVersion:
    """The base of all these classes. `functions`, `condition_functions`: name -> class of the function."""

    edition: ClassVar[Edition]
    functions: ClassVar[Mapping[str, object]]
    condition_functions: ClassVar[Mapping[str, object]]


def _class_of(name: str, edition: Edition) -> type[TemplateVersion]:
    return type(name, (TemplateVersion,), {
        '__module__': __name__, '__doc__': f'The version {edition.name}.', 'edition': edition,
        'functions': edition.functions, 'condition_functions': edition.condition_functions})


def _name_of(edition: Edition) -> str:
    """Heat's name of the class."""
    if edition.is_hot:
        return f'HOTemplate{edition.date.replace("-", "")}'
    return 'CfnTemplate' if edition.key == versions.AWS_KEY else 'HeatTemplate'


_BUILT_IN = {_name_of(edition): _class_of(_name_of(edition), edition) for edition in versions.EDITIONS}


def __getattr__(name: str) -> type[TemplateVersion]:
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def changes(kind: type[TemplateVersion]) -> frozenset[str]:
    """Return the names of attributes, beside CHANGEABLE, that a class of a plug-in states."""
    own = [each for each in kind.__mro__
           if issubclass(each, TemplateVersion) and each is not TemplateVersion and each not in _BUILT_IN.values()]
    return frozenset(name for each in own for name in vars(each) if not name.startswith('__')) - CHANGEABLE
