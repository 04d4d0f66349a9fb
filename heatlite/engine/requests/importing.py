"""Refuses requests whose imports are not possible, or not allowed, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterator

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.requests.preview_update import Previewed
from heatlite.engine.types.registry import TypeRegistry
from heatlite.planning.plan import Path

RULE = 'stacks:import'
MOST_SHOWN = 50                     # resources that a refusal names


def check(found: Previewed, context: RequestContext, registry: TypeRegistry) -> None:
    """Raise StackValidationFailed, with all imports of a previewed tree that are not possible; Forbidden if the caller
    may not import at all."""
    if not _has_imports(found):
        return
    registry.enforce(context, RULE)
    errors = list(_errors(found, ()))[:MOST_SHOWN]
    if errors:
        first, *others = [found.mask.text(str(error)) for _path, error in errors]
        raise exception.StackValidationFailed(path=['resources', '/'.join(errors[0][0])], message=first,
                                              details=others, elsewhere=True)


def _has_imports(found: Previewed) -> bool:
    return bool(found.not_imported) or any(change.imported for change in found.changes.values()) or any(
        map(_has_imports, found.inside))


def _errors(found: Previewed, path: Path) -> Iterator[tuple[Path, exception.HeatException]]:
    for name, error in found.not_imported.items():
        yield (*path, name), error
    for each in found.inside:
        yield from _errors(each, (*path, str(each.row.parent_resource)))
