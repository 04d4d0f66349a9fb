"""Hover: what is known of the word at an offset."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.editing import describing, meaning
from heatlite.editing.outline import ENVIRONMENT, Outline
from heatlite.editing.text import TextSpan
from heatlite.engine.resources import packed
from heatlite.language import environment


@dataclass(frozen=True)
class Hover:
    """A text in Markdown about a part of the document."""

    span: TextSpan
    text: str


def hover(outline: Outline, offset: int) -> Hover | None:
    found = outline.tree.find(offset)
    if found is None or found.node.kind != 'scalar':
        return None
    text = _environment_text(outline, found.path, found.is_key) if outline.kind == ENVIRONMENT else (
        _declared(outline, offset) or _text(outline, meaning.of(outline, found.path, is_key=found.is_key),
                                            found.node.value))
    return Hover(found.node.span, text) if text else None


def _declared(outline: Outline, offset: int) -> str:
    use = outline.use_at(offset)
    return describing.of_declared(outline, use.kind, use.name) if use is not None else ''


def _text(outline: Outline, found: meaning.Meaning, word: str) -> str:
    match found.what:
        case meaning.TYPE:
            return _of_type(word)
        case meaning.PROPERTY if found.schema is not None and found.type_name is not None:
            if found.path[0] in packed.properties(found.type_name):
                return describing.of_property(found.schema, found.type_name, found.path)
            return describing.of_policy(found.schema, found.path[-1])
        case meaning.CALL:
            return describing.of_function(outline, found.name)
        case meaning.ATTRIBUTE:
            body = meaning.attributes(outline, found.resource).get(word)
            return describing.of_attribute(word, body) if body is not None else ''
    return ''


def _of_type(name: str) -> str:
    type_name = meaning.built_in(name)
    if type_name is None:
        return ''
    return describing.of_type(type_name) + (f'\n\n`{name}` -> `{type_name}`' if name != type_name else '')


def _environment_text(outline: Outline, path: tuple[object, ...], is_key: bool) -> str:
    if path[0] == environment.REGISTRY and len(path) == 2:
        return _of_type(str(path[1]) if is_key else outline.tree.text_at(environment.REGISTRY, str(path[1])) or '')
    return ''


