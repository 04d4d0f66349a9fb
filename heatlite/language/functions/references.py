"""Functions that read values: parameters, resources, files, mappings, the parent's resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language.constraints import to_whole
from heatlite.language.expression import PLACEHOLDERS, Call, InvalidCall, Node, Requirement, Scope, resolve
from heatlite.language.kind_names import kind_name
from heatlite.language.unknown import UNKNOWN


class GetParam(Call):
    """A function for resolving parameter references."""

    __slots__ = ()
    positional: ClassVar[bool] = False

    def check(self) -> None:
        self.refers = self.refers or self.home.has_unknown_parameters

    def result(self, args: object, scope: Scope) -> object:
        if not args and not isinstance(args, bool | int | float):
            raise ValueError(_('Function "%s" must have arguments') % self.name)
        if isinstance(args, str):
            name, path = args, []
        elif isinstance(args, list):
            name, *path = args
        else:
            raise TypeError(_('Argument to "%s" must be string or list') % self.name)
        if not isinstance(name, str):
            raise TypeError(_('Parameter name in "%s" must be string') % self.name)
        value = self.home.parameters.get(name, _MISSING)
        if value is _MISSING:
            raise exception.UserParameterMissing(key=name)
        for part in path:
            value = _parameter_part(value, part)
        return value


_MISSING = object()


def _parameter_part(value: object, part: object) -> object:
    """Return the part of a value; empty text if it does not exist."""
    if value is UNKNOWN:
        return UNKNOWN
    try:
        if isinstance(value, Mapping):
            return value[part]
        if isinstance(value, str | list):
            return value[to_whole(part)]
    except (KeyError, IndexError, ValueError, TypeError):
        pass
    return ''


class GetResource(Call):
    """A function for resolving resource references."""

    __slots__ = ()
    asks_resources: ClassVar[bool] = True

    def result(self, args: object, scope: Scope) -> object:
        if isinstance(args, list | dict):
            raise TypeError(_('Argument to "%s" must be a string') % self.name)
        if args not in self.home.resource_names:
            raise exception.InvalidTemplateReference(resource=args, key='unknown')
        return scope.reference(args)

    def requirements(self, scope: Scope) -> Iterator[Requirement]:
        name = _name(self.args, scope)
        if name is not UNKNOWN:
            yield Requirement(name)


def _name(expression: object, scope: Scope) -> object:
    """Return a name, which may itself be computed; UNKNOWN if that fails (evaluation reports the error).

    A value that cannot be a name is converted to text.
    """
    if isinstance(expression, Node):
        try:
            expression = resolve(expression, scope)
        except (exception.HeatException, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return UNKNOWN
    return str(expression) if isinstance(expression, list | dict) else expression


class GetAttr(Call):
    """A function for resolving resource attributes."""

    __slots__ = ()
    asks_resources: ClassVar[bool] = True
    positional: ClassVar[bool] = False
    shortest: ClassVar[int] = 1
    usage: ClassVar[str] = ('Arguments to "%s" can be of the next forms: [resource_name] or '
                            '[resource_name, attribute, (path), ...]')

    def check(self) -> None:
        items = self.literal_list()
        if items is None:
            raise InvalidCall(_('Argument to "%s" must be a list') % self.name)
        if len(items) < self.shortest:
            raise InvalidCall(_(self.usage) % self.name)

    def _items(self) -> list[object]:
        items = self.literal_list()
        assert items is not None
        return items

    def validate(self) -> None:
        """Judge the resource and the attribute. Parts of the path may be values that are given or known later only."""
        resource, attribute = [_name(item, PLACEHOLDERS) for item in [*self._items()[:2], None][:2]]
        if resource is UNKNOWN or attribute is UNKNOWN:
            return
        if not isinstance(resource, str) or resource not in self.home.resource_names:
            misuse = InvalidCall(str(exception.InvalidTemplateReference(resource=resource, key='unknown')))
            misuse.cause = exception.InvalidTemplateReference(resource=resource, key='unknown')
            raise misuse
        if attribute is not None and self.home.attribute_exists(resource, str(attribute)) is False:
            misuse = InvalidCall(str(exception.InvalidTemplateAttribute(resource=resource, key=attribute)))
            misuse.cause = exception.InvalidTemplateAttribute(resource=resource, key=attribute)
            raise misuse

    def result(self, args: Sequence[object], scope: Scope) -> object:
        resource, attribute, *path = [*args, None][:max(2, len(args))]
        if not isinstance(resource, str) or resource not in self.home.resource_names:
            raise exception.InvalidTemplateReference(resource=resource, key='unknown')
        if attribute is None:
            return scope.all_attributes(resource)
        return self._attribute(scope, resource, attribute, tuple(path))

    def _attribute(self, scope: Scope, resource: str, attribute: object, path: tuple[object, ...]) -> object:
        return scope.attribute(resource, attribute if isinstance(attribute, str) else str(attribute), path)

    def requirements(self, scope: Scope) -> Iterator[Requirement]:
        names = [_name(item, scope) for item in self._items()]
        if names[0] is UNKNOWN:
            return
        path = [name for name in names[1:] if name is not UNKNOWN]
        yield Requirement(names[0], tuple(path) if path and path[0] is not None else ())


class GetAttrWithPath(GetAttr):
    """A function for resolving resource attributes."""

    __slots__ = ()
    shortest: ClassVar[int] = 2
    usage: ClassVar[str] = 'Arguments to "%s" must be of the form [resource_name, attribute, (path), ...]'


class GetAttrThenPath(GetAttrWithPath):
    """A function for resolving resource attributes."""

    __slots__ = ()

    def _attribute(self, scope: Scope, resource: str, attribute: object, path: tuple[object, ...]) -> object:
        return select(scope.attribute(resource, str(attribute), ()), path)


class GetAtt(GetAttr):
    """A function for resolving resource attributes."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) != 2:
            raise InvalidCall(_('Arguments to "%s" must be of the form [resource_name, attribute]') % self.name)


def select(value: object, path: tuple[object, ...]) -> object:
    """Return the part of an attribute's value at `path`: keys of maps, integers in lists and texts.

    Null if there is no such part, UNKNOWN below UNKNOWN.
    """
    for part in path:
        if value is UNKNOWN:
            return UNKNOWN
        try:
            if isinstance(value, Mapping):
                value = value[part]
                continue
            if not isinstance(value, str | list | tuple) or not isinstance(part, int):
                return None
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class GetFile(Call):
    """A function for including a file inline."""

    __slots__ = ()
    uses_files: ClassVar[bool] = True

    def check(self) -> None:
        self.refers = self.refers or bool(self.home.files.unknown)

    def result(self, args: object, scope: Scope) -> object:
        if not isinstance(args, str):
            raise TypeError(_('Argument to "%s" must be a string') % self.name)
        content = self.home.files.get(args)
        if content is None and args in self.home.files.unknown:
            return UNKNOWN
        if content is None:
            raise ValueError(_('No content found in the "files" section for %(function)s path: %(path)s')
                             % {'function': self.name, 'path': args})
        return content if isinstance(content, str) else str(content)


class ResourceFacade(Call):
    """A function for retrieving data in a parent provider template."""

    __slots__ = ()
    uses_facade: ClassVar[bool] = True
    parts_known: ClassVar[Mapping[str, str]] = {
        'metadata': 'metadata', 'deletion_policy': 'deletion_policy', 'update_policy': 'update_policy'}

    def check(self) -> None:
        if not isinstance(self.args, str) or self.args not in self.parts_known:
            raise InvalidCall(_('Incorrect arguments to "%(function)s" should be one of: %(allowed)s')
                              % {'function': self.name, 'allowed': ', '.join(self.parts_known)})

    def result(self, args: str, scope: Scope) -> object:
        return self.home.facade(self.parts_known[args])


class CfnResourceFacade(ResourceFacade):
    """A function for retrieving data in a parent provider template."""

    __slots__ = ()
    parts_known: ClassVar[Mapping[str, str]] = {
        'Metadata': 'metadata', 'DeletionPolicy': 'deletion_policy', 'UpdatePolicy': 'update_policy'}


class Ref(Call):
    """A function for resolving parameter or resource references."""

    __slots__ = ()
    asks_resources: ClassVar[bool] = True

    def validate(self) -> None:
        if isinstance(self.args, list | dict | Node):
            raise InvalidCall(_('Argument to "%s" must be a string') % self.name)

    def result(self, args: str | list[object] | dict[str, object], scope: Scope) -> object:
        if isinstance(args, list | dict):
            raise TypeError(_('Argument to "%s" must be a string') % self.name)
        if args in self.home.resource_names:
            return scope.reference(args)
        return _parameter(self, args)

    def requirements(self, scope: Scope) -> Iterator[Requirement]:
        if isinstance(self.args, str) and self.args in self.home.resource_names:
            yield Requirement(self.args)        # anything else is a parameter, or fails in evaluation


class ParamRef(GetParam):
    """A function for resolving parameter references."""

    __slots__ = ()

    def result(self, args: object, scope: Scope) -> object:
        return _parameter(self, args)


def _parameter(call: Call, name: object) -> object:
    """Return the value of a parameter. Raises UserParameterMissing if it has none, InvalidTemplateReference if it is
    not declared."""
    parameters = call.home.parameters
    if not isinstance(name, str) or name not in parameters:
        raise exception.InvalidTemplateReference(resource=name, key='unknown')
    value = parameters.get(name, _MISSING)
    if value is _MISSING:
        raise exception.UserParameterMissing(key=name)
    return value


class FindInMap(Call):
    """A function for resolving keys in the template mappings."""

    __slots__ = ()

    def check(self) -> None:
        items = self.literal_list()
        if items is None or len(items) < 3:
            raise InvalidCall(repr(_('not enough values to unpack (expected 3, got %d)') % len(items or ())))
        if len(items) > 3:
            raise InvalidCall(repr(_('too many values to unpack (expected 3)')))

    def result(self, args: Sequence[object], scope: Scope) -> object:
        value = self.home.mappings
        for key in args:
            if not isinstance(value, Mapping):
                raise TypeError(_('"%(function)s": "%(key)s" is looked up in something that is no map')
                                % {'function': self.name, 'key': key})
            if isinstance(key, list | Mapping):
                raise TypeError(_('"%(function)s": a key cannot be a %(kind)s')
                                % {'function': self.name, 'kind': kind_name(key)})
            value = value[key]
        return value


class GetAZs(Call):
    """A function for retrieving the availability zones."""

    __slots__ = ()

    def result(self, args: object, scope: Scope) -> object:
        zones = getattr(scope, 'availability_zones', None)
        return list(zones()) if zones is not None else ['nova']
