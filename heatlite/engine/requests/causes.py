"""Finds why a property changes between two definitions of a stack: the line of the template, a parameter, a file, or a
resource whose change makes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.previewed_change import PreviewedChange
from heatlite.language.definition import StackDefinition
from heatlite.language.expression import PLACEHOLDERS, calls, spelled
from heatlite.language.functions.references import GetFile, GetParam, Ref
from heatlite.planning.plan import Cause, PlanAction
from heatlite.planning.replacement import Reason


class Causes:
    """The causes of changes in one stack. `changing`: names of the resources that the plan changes.

    Positions are known if the template came as text.
    """

    def __init__(self, before: StackDefinition | None, after: StackDefinition, changing: Collection[str]) -> None:
        self._before = before
        self._after = after
        self._changing = changing

    @classmethod
    def within(cls, preview: PreviewedStack) -> Causes:
        """Make the causes of a stack that was previewed."""
        return cls(preview.before, preview.definition, {
            name for name, change in preview.changes.items() if change.action is not PlanAction.NONE})

    def of(self, resource: str, name: str) -> Cause | None:
        """Return the cause of the change of property `name`; None if the definitions do not tell one."""
        new = self._after.resources.get(resource)
        if new is None:
            return None
        path = new.property_path(name)
        old = self._before.resources.get(resource) if self._before is not None else None
        written = self._written(self._after, resource, name)
        if old is None or self._written(self._before, resource, name) != written or old.type != new.type:
            return self._at('template', '.'.join(map(str, path)), path)
        expression = new.property_expressions.get(name)
        return next(self._inputs(expression, path), None)

    def of_type(self, resource: str) -> Cause | None:
        """Return where the template gives the resource another type than before; None if it does not."""
        old, new = (each.resources.get(resource) if each is not None else None for each in (self._before, self._after))
        if old is None or new is None or old.type == new.type:
            return None
        path = *new.path, self._after.keys.type
        return self._at('template', '.'.join(map(str, path)), path)

    def _inputs(self, expression: object, path: tuple[object, ...]) -> Iterator[Cause]:
        """Yield what the expression uses and what has changed: parameters and files first, then resources."""
        used_calls = calls(expression)
        for trail, call in used_calls:
            named = call.args[0] if isinstance(call.args, list) and call.args else call.args
            if not isinstance(named, str):
                continue
            place = (*path, *spelled(trail))
            if isinstance(call, GetParam | Ref) and self._parameter(self._before, named) != self._parameter(
                    self._after, named):
                yield self._at('parameter', named, place)
            elif isinstance(call, GetFile) and self._before is not None and (
                    self._before.files.get(named) != self._after.files.get(named)):
                yield self._at('file', named, place)
        for trail, call in used_calls:
            for need in call.requirements(PLACEHOLDERS):
                if isinstance(need.resource, str) and need.resource in self._changing:
                    yield self._at('resource', need.resource, (*path, *spelled(trail)))

    def _at(self, cause_kind: str, what: str, path: tuple[object, ...]) -> Cause:
        line, column = self._after.template.position(path) or (None, None)
        return Cause(cause_kind, what, line, column)

    @staticmethod
    def _written(definition: StackDefinition | None, resource: str, name: str) -> object:
        """Return the property as the template has it, functions unresolved."""
        found = definition.resources.get(resource) if definition is not None else None
        properties = found.snippet.get(definition.keys.properties) if found is not None and definition else None
        return properties.get(name) if isinstance(properties, dict) else None

    @staticmethod
    def _parameter(definition: StackDefinition | None, name: str) -> object:
        return definition.parameters.get(name) if definition is not None else None


def of_replacement(change: PreviewedChange, preview: PreviewedStack, causes: Causes) -> Cause | None:
    """Return why a resource is replaced though no property requires it: the line that gives it another type, or what
    was noted of it."""
    noted = change.cause
    if noted is None:
        return None
    at_type = causes.of_type(change.name) if noted.reason is Reason.TYPE else None
    return at_type or Cause(str(noted.reason), preview.mask.text(noted.what), by=noted.by, at=noted.at)


def replacement_in_words(change: PreviewedChange, preview: PreviewedStack, causes: Causes) -> str:
    """Return the reason of a replacement with its cause, or with the properties that force it and their causes."""
    cause = of_replacement(change, preview, causes)
    if cause is not None:
        return f'{change.why} ({cause})'
    forcing = {name: causes.of(change.name, name)
               for name, each in change.properties.items() if each.forces_replacement}
    words = '; '.join(name if cause is None else f'{name}: {cause}' for name, cause in forcing.items())
    return f'{change.why} ({words})' if words else change.why
