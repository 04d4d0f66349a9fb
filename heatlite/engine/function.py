"""The base classes of template functions in plug-ins, and the evaluation of snippets that contain them."""

from __future__ import annotations

import abc
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource
    from heatlite.engine.resource_stack import OwnStack

_PLAIN = (str, int, float, bool, type(None))
_MAPS, _SEQUENCES = (dict, Mapping), (list, Iterable)     # the usual class first: the others are slow to ask


class Function(metaclass=abc.ABCMeta):
    """One call in a template. If `result()` returns `Ellipsis`, the call is left out of the result."""

    def __init__(self, stack: OwnStack | None, fn_name: str, args: object) -> None:
        self._stackref = weakref.ref(stack) if stack is not None else None
        self.fn_name = fn_name
        self.args = args

    @property
    def stack(self) -> OwnStack | None:
        if self._stackref is None:
            return None
        stack = self._stackref()
        assert stack is not None, 'Need a reference to the Stack object'
        return stack

    def validate(self) -> None:
        """Raise an error if the arguments are invalid."""
        validate(self.args)

    @abc.abstractmethod
    def result(self) -> object:
        """Return the value of the call."""

    def dependencies(self, path: str) -> Iterator[Resource]:
        """Return the resources to which this call refers; `path` is for errors."""
        return dependencies(self.args, f'{path}.{self.fn_name}')

    def dep_attrs(self, resource_name: str) -> Iterator[object]:
        """Return the attributes of that resource that this call reads: names, or tuples of a name and a path."""
        return dep_attrs(self.args, resource_name)

    def all_dep_attrs(self) -> Iterator[tuple[str, object]]:
        return all_dep_attrs(self.args)

    def __str__(self) -> str:
        return f'{self.fn_name} {self.args!r}'

    def __repr__(self) -> str:
        return f'<{self.__module__}.{type(self).__name__} {self}>'

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Function):
            return bool(self.result() == other.result())
        return bool(self.result() == other)

    __hash__ = None  # type: ignore[assignment]


class Macro(Function, metaclass=abc.ABCMeta):
    """A call that decides itself which of its raw arguments are parsed."""

    def __init__(self, stack: OwnStack | None, fn_name: str, raw_args: object, parse_func: Callable[..., object],
                 template: object) -> None:
        self._templateref = weakref.ref(template) if template is not None else None
        super().__init__(stack, fn_name, raw_args)
        self.parsed = self.parse_args(parse_func)

    @property
    def template(self) -> object:
        return self._templateref() if self._templateref is not None else None

    @abc.abstractmethod
    def parse_args(self, parse_func: Callable[..., object]) -> object:
        """Return the replacement of the call; `parse_func(snippet)` parses a part of the arguments."""

    def result(self) -> object:
        return resolve(self.parsed)

    def validate(self) -> None:
        validate(self.parsed)

    def dependencies(self, path: str) -> Iterator[Resource]:
        return dependencies(self.parsed, f'{path}.{self.fn_name}')

    def dep_attrs(self, resource_name: str) -> Iterator[object]:
        return dep_attrs(self.parsed, resource_name)

    def all_dep_attrs(self) -> Iterator[tuple[str, object]]:
        return all_dep_attrs(self.parsed)


def resolve(snippet: object, nullable: bool = False) -> object:
    """Return `snippet` with every function replaced by its value. `nullable`: return `Ellipsis` instead of None."""
    kind = type(snippet)
    if kind is not dict and kind is not list:
        if isinstance(snippet, _PLAIN):
            return snippet
        if isinstance(snippet, Function):
            value = snippet.result()
            return None if value is Ellipsis and not nullable else value
    if isinstance(snippet, _MAPS):
        return {name: value for name, item in snippet.items()
                if (value := resolve(item, nullable=True)) is not Ellipsis}
    if isinstance(snippet, _SEQUENCES):
        return [value for item in snippet if (value := resolve(item, nullable=True)) is not Ellipsis]
    return snippet


def validate(snippet: object, path: list[object] | str | None = None) -> None:
    """Check every function in `snippet`; raises StackValidationFailed with the path to it, which begins with `path`:
    its parts, or one part as a text."""
    path = [path] if isinstance(path, str) else path or []
    if isinstance(snippet, Function):
        try:
            snippet.validate()
        except (exception.StackValidationFailed, AssertionError):
            raise
        except Exception as error:
            raise exception.StackValidationFailed(path=[*path, snippet.fn_name], message=str(error))
        return
    for name, value in _children(snippet):
        validate(value, [*path, name])


def dependencies(snippet: object, path: str = '') -> Iterator[Resource]:
    """Return the resources to which functions in `snippet` refer."""
    if isinstance(snippet, Function):
        return iter(snippet.dependencies(path))
    return itertools.chain.from_iterable(
        dependencies(value, f'{path}[{name}]' if isinstance(name, int) else f'{path}.{name}')
        for name, value in _children(snippet))


def dep_attrs(snippet: object, resource_name: str) -> Iterator[object]:
    """Return the attributes of one resource that functions in `snippet` read."""
    if isinstance(snippet, Function):
        return iter(snippet.dep_attrs(resource_name))
    return itertools.chain.from_iterable(dep_attrs(value, resource_name) for _name, value in _children(snippet))


def all_dep_attrs(snippet: object) -> Iterator[tuple[str, object]]:
    """Return (resource name, attribute) for every attribute that functions in `snippet` read."""
    if isinstance(snippet, Function):
        return iter(snippet.all_dep_attrs())
    return itertools.chain.from_iterable(all_dep_attrs(value) for _name, value in _children(snippet))


def _children(snippet: object) -> Iterable[tuple[object, object]]:
    if isinstance(snippet, Mapping):
        return snippet.items()
    if isinstance(snippet, list | tuple):
        return enumerate(snippet)
    return ()


class Invalid(Function):
    """A function that this version of the template format forbids. Raises Error when it is made."""

    def __init__(self, stack: OwnStack | None, fn_name: str, args: object) -> None:
        raise exception.Error(f'The function "{fn_name}" is invalid in this context')

    def result(self) -> object:
        raise NotImplementedError
