"""A template: a document with a version, and sections under names that depend on its format.

The API uses `parse` for the text of a template; `load` and `from_mapping` make a `Template`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heatlite.common import exception, json_bounds, template_format
from heatlite.common.i18n import _
from heatlite.common.limits import USUAL, Limits
from heatlite.common.yaml_reading import ROOT
from heatlite.language import document as documents
from heatlite.language import versions
from heatlite.language.document import DocumentError
from heatlite.language.positions import Positions


def parse(text: str, source: str = ROOT, limits: Limits = USUAL) -> dict[str, object]:
    """Parse a document. Raises ValueError (DocumentError) with the text that clients expect, RequestLimitExceeded.

    The document must have a version key, with any value.
    """
    return template_format.parse(text, source, limits)


def load(text: str, source: str = ROOT, limits: Limits = USUAL) -> Template:
    """Load a template from text. Raises HTTPBadRequest, InvalidTemplateVersion, RequestLimitExceeded."""
    try:
        document = parse(text, source, limits)
    except DocumentError as error:
        raise not_in_valid_format(error) from None
    return Template(document, source=source, text=text)


def not_in_valid_format(error: Exception) -> exception.HTTPBadRequest:
    return exception.HTTPBadRequest(_('Template not in valid format: %s') % error)


def from_mapping(document: Mapping[str, object], limits: Limits | None = USUAL, source: str = ROOT,
                 text: str | None = None, encoded: str | None = None) -> Template:
    """Make a template from data; `text`, if given, serves to look up positions. `limits`: None if the document was
    found within them before. `encoded`: the document as JSON, if the caller has it."""
    if limits is not None and (encoded is None or not json_bounds.keeps_to(encoded.encode(), limits)):
        documents.check_size(document, limits)
    return Template(dict(document), source=source, text=text, encoded=encoded)


class Template:
    """One template. `document` must not be changed."""

    def __init__(self, document: dict[str, object], source: str = ROOT, text: str | None = None,
                 encoded: str | None = None) -> None:
        """`text`: as its author wrote it; `encoded`: the document as JSON. None: not known."""
        self.document = document
        self.source = source
        self.text = text
        self.encoded = encoded
        self.edition = versions.of(document)
        self._positions: Positions | None = None

    @property
    def version(self) -> str:
        """The version, such as `heat_template_version.2018-08-31`; aliases are resolved."""
        return self.edition.name

    @property
    def VERSION(self) -> str:
        """The key that names the version, such as `heat_template_version`, under Heat's name."""
        return self.edition.key

    @property
    def family(self) -> str:
        return self.edition.family

    @property
    def keys(self) -> versions.Keys:
        """The names of sections and keys in this format."""
        return self.edition.keys

    @property
    def description(self) -> object:
        found = self.document.get(self.keys.description)
        return found or _('No description')

    def section(self, name: str) -> Any:
        """Return the content of a section by its HOT name; None when absent, empty, or unknown to the format.

        An empty list is none, too: some programs that write templates know no empty map.
        """
        key = self.edition.sections.get(name)
        return None if key is None else self.document.get(key) or None

    def get_section_name(self, name: str) -> str:
        """Return the name in this format of a section given by its HOT name."""
        return self.edition.sections.get(name, name)

    def unknown_section(self) -> str | None:
        """Return the first top-level key that this format does not have."""
        known = self.edition.section_keys
        return next((key for key in self.document if key not in known), None)

    def position(self, path: tuple[object, ...]) -> tuple[int, int] | None:
        """Line and column (from 1) of the value at `path`, or of the nearest one above it. None without text, and for
        JSON in one line: clients make it of files, in which nothing is at that column."""
        if self.text is None or (self.text.startswith('{') and '\n' not in self.text):
            return None
        if self._positions is None:
            self._positions = Positions(self.text)
        return self._positions.find(path)

    def child(self, document: dict[str, object], source: str, text: str | None = None) -> Template:
        return Template(document, source=source, text=text)


def is_template_name(name: object) -> bool:
    """Whether a resource type is the name of a template file."""
    return isinstance(name, str) and name.endswith(('.yaml', '.template'))


def missing_template(name: str, reason: str) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(
        message=_('Could not fetch remote template "%(name)s": %(reason)s') % {'name': name, 'reason': reason})
