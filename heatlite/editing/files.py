"""The files that a document names: of `get_file`, nested templates, and templates in a registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlparse

from heatlite.editing.outline import ENVIRONMENT, FILE_CALLS, Outline
from heatlite.editing.tree import MAP, SCALAR, DocumentNode
from heatlite.language import environment
from heatlite.language.registry import BASE_URL
from heatlite.language.template import is_template_name


@dataclass(frozen=True)
class FileUse:
    """A scalar that names a file. `url`: absolute, as the linter makes it."""

    node: DocumentNode
    url: str

    @property
    def path(self) -> Path | None:
        """The path of a local file."""
        parts = urlparse(self.url)
        return Path(unquote(parts.path)) if parts.scheme == 'file' else None


def used(outline: Outline, url: str) -> list[FileUse]:
    """All uses of files in a document at a URL, in the order of the text."""
    found = _of_registry(outline, url) if outline.kind == ENVIRONMENT else _of_template(outline, url)
    return sorted(found, key=lambda use: use.node.start)


def _of_template(outline: Outline, url: str) -> Iterator[FileUse]:
    for node in outline.tree.nodes():
        for key, value in node.entries if node.kind == MAP else ():
            if value.kind == SCALAR and (key.name in FILE_CALLS or (
                    key.name in ('type', 'Type') and is_template_name(value.value))):
                yield FileUse(value, urljoin(url, value.value))


def _of_registry(outline: Outline, url: str) -> Iterator[FileUse]:
    waiting = [(outline.tree.at((environment.REGISTRY,)), url)]
    while waiting:
        node, base = waiting.pop()
        given = outline.tree.entry(node, BASE_URL)
        if given is not None and given[1].name:
            base = given[1].value if given[1].value.endswith('/') else f'{given[1].value}/'
        for _key, value in node.entries if node is not None else ():
            if value.kind == SCALAR and is_template_name(value.value):
                yield FileUse(value, urljoin(base, value.value))
            elif value.kind == MAP:
                waiting.append((value, base))
