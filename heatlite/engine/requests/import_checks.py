"""Refuses requests whose imports are not possible, or not allowed, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterator

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.diagnostics import did_you_mean
from heatlite.language.registry import is_pattern
from heatlite.planning.plan import Path, PlanAction
from heatlite.planning.states import Action

RULE = 'stacks:import'
MOST_SHOWN = 50                     # resources that a refusal names
# With these, a nested stack is previewed.
INSIDE_IS_SEEN = (PlanAction.CREATE, PlanAction.IMPORT, PlanAction.REPLACE, PlanAction.UPDATE)


def check(preview: PreviewedStack, context: RequestContext, registry: TypeRegistry) -> None:
    """Raise StackValidationFailed, with all imports of a previewed tree that are not possible; Forbidden if the caller
    may not import at all.

    Each line of the error is `resources.<path>: <text>`. The path is a part of the text: Heat has no such error, and
    after a path of its own the wire format has two colons."""
    imports = preview.definition.imports
    if not imports and not _has_imports(preview):
        return
    registry.enforce(context, RULE)
    errors = [*_absent(preview), *((path, str(error)) for path, error in _errors(preview, ()))]
    if errors:
        first, *others = [preview.mask.text(f"resources.{'/'.join(path)}: {text}")
                          for path, text in errors[:MOST_SHOWN]]
        if len(errors) > MOST_SHOWN:
            others.append(_('and %d more') % (len(errors) - MOST_SHOWN))
        raise exception.StackValidationFailed(message=first, details=others, elsewhere=True)


def _has_imports(preview: PreviewedStack) -> bool:
    return any(change.imported or change.import_error for change in preview.changes.values()) or any(
        map(_has_imports, preview.inside))


def _absent(preview: PreviewedStack) -> Iterator[tuple[Path, str]]:
    """Yield the imports of the request into resources that the tree will not have. Entries of an environment may name
    such resources: one environment may serve many templates."""
    for path in preview.definition.imports:
        names = tuple(path.split('/'))
        why = _why_absent(preview, names)
        if why:
            yield names, why


def _why_absent(preview: PreviewedStack, names: Path) -> str:
    """Return why there will be no resource at a path below a stack; empty if there will be, or if that is unknown."""
    name, *rest = names
    definition = preview.definition
    if is_pattern(name):
        return ''
    if name not in definition.snippets:
        hint = did_you_mean(name, definition.snippets)
        text = _('There is no resource "%s" in the template') % name
        return f'{text} ({hint})' if hint else text
    if name not in definition.resources:
        return '' if definition.has_unknown_parameters else _('The condition of the resource "%s" is false') % name
    if not rest:
        return ''
    change = preview.changes.get(name)
    if change is not None and (change.action not in INSIDE_IS_SEEN or change.inside):
        return ''                                   # what is stored of it may not be what there will be
    inside = [each for each in preview.inside if each.row.parent_resource == name and each.row.action != Action.DELETE]
    if inside:
        return _why_absent(inside[0], tuple(rest))
    if change is not None:
        return _('The resource "%s" has no nested stack') % name
    return ''


def _errors(preview: PreviewedStack, path: Path) -> Iterator[tuple[Path, exception.HeatException]]:
    for name, change in preview.changes.items():
        if change.import_error is not None:
            yield (*path, name), change.import_error
    for each in preview.inside:
        yield from _errors(each, (*path, str(each.row.parent_resource)))
