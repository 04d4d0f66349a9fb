"""Definitions, references and renames of what a document declares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.editing.outline import PARAMETER, RESOURCE, Outline, Use
from heatlite.editing.text import TextSpan
from heatlite.editing.tree import DocumentNode
from heatlite.language.document import plain_value

PLAIN: Final = re.compile(r'[A-Za-z_][\w.\-]*', re.ASCII)
# A parameter and a resource must not have the same name.
SHARED: Final[Mapping[str, tuple[str, ...]]] = {PARAMETER: (PARAMETER, RESOURCE), RESOURCE: (RESOURCE, PARAMETER)}
FORBIDDEN: Final[Mapping[str, str]] = {RESOURCE: '/'}


@dataclass(frozen=True)
class Edit:
    """Replaces a part of the text."""

    span: TextSpan
    text: str


class NotRenamed(exception.HeatException):
    """The new name is refused."""

    msg_fmt = '%(why)s'


def definition(outline: Outline, offset: int) -> TextSpan | None:
    """Where the name at an offset is declared."""
    use = outline.use_at(offset)
    if use is None:
        return None
    return next((each.node.span for each in outline.uses_of(use.kind, use.name) if each.is_declaration), None)


def references(outline: Outline, offset: int, *, with_declaration: bool = True) -> list[TextSpan]:
    """All places of the name at an offset."""
    use = outline.use_at(offset)
    found = outline.uses_of(use.kind, use.name) if use is not None else []
    return [each.node.span for each in found if with_declaration or not each.is_declaration]


def renamed_word(outline: Outline, offset: int) -> tuple[TextSpan, str] | None:
    """Return the word that a rename at an offset replaces, without quotes, and its text; None if it is not declared
    here."""
    use = _renameable(outline, offset)
    if use is None:
        return None
    quote = 1 if use.node.style else 0
    return TextSpan(use.node.start + quote, use.node.end - quote), use.name


def rename(outline: Outline, offset: int, name: str) -> list[Edit]:
    """Return the edits that give another name to what is named at an offset. Raises NotRenamed."""
    use = _renameable(outline, offset)
    if use is None:
        raise NotRenamed(why=_('There is nothing with a name that the document declares'))
    if not name.strip() or any(ord(character) < 32 for character in name):
        raise NotRenamed(why=_('A name must not be empty or contain control characters'))
    if FORBIDDEN.get(use.kind, '\0') in name:
        raise NotRenamed(why=_('Resource name may not contain "/"'))
    for kind in SHARED.get(use.kind, (use.kind,)):
        if name != use.name and name in outline.declared(kind):
            raise NotRenamed(why=_('There is already the %(kind)s "%(name)s"') % {'kind': kind, 'name': name})
    return [Edit(each.node.span, written(name, each.node)) for each in outline.uses_of(use.kind, use.name)]


def _renameable(outline: Outline, offset: int) -> Use | None:
    use = outline.use_at(offset)
    return use if use is not None and use.name in outline.declared(use.kind) else None


def written(name: str, like: DocumentNode) -> str:
    """Return a name as a scalar of YAML, in the quotes of the scalar that it replaces; plain names that need them get
    some."""
    if like.style == "'":
        return "'{}'".format(name.replace("'", "''"))
    if like.style == '"' or not PLAIN.fullmatch(name) or plain_value(name) != name:
        return json.dumps(name, ensure_ascii=False)
    return name
