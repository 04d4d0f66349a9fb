"""Reads templates and environments with all files they use, as the command line client sends them."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin, urlparse

from heatlite.authoring.findings import LintFinding
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.common.template_format import VERSION_KEYS
from heatlite.language import environment as environments
from heatlite.language import merging, rules
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language.diagnostics import LONGEST_NAME, did_you_mean
from heatlite.language.document import DocumentError
from heatlite.language.environment import EnvironmentError_
from heatlite.language.positions import Positions
from heatlite.language.registry import BASE_URL, DRIFT, HOOKS, RESTRICTED
from heatlite.language.template import Template
from heatlite.language.versions import ALIASES, HOT_DATES

LIMITS: Final = Limits(max_size=10_000_000)
MOST_FILE_BYTES: Final = 4 * LIMITS.max_size            # of a file that a template names; a character has up to four
REMOTE: Final = ('http', 'https')        # files there are fetched by the client or the service
FAILURES: Final = (exception.HeatException, DocumentError, EnvironmentError_)
RULES: Final = ((exception.RequestLimitExceeded, rules.LIMIT), (exception.InvalidTemplateVersion, rules.VERSION),
                (EnvironmentError_, rules.ENVIRONMENT), (OSError, rules.FILE), (DocumentError, rules.SYNTAX))

MOST_FILES: Final = 1000                                # of a folder that are compared with the name of a missing one
VERSIONS: Final = (*HOT_DATES, *ALIASES)
_VERSION: Final = re.compile(r'heat_template_version["\']?\s*:\s*["\']?([^"\'\s,}]+)')
# Whether a text and the error about it have a common cause -> the hint.
HINTS: Final[Sequence[tuple[Callable[[str, str], bool], str]]] = (
    (lambda text, error: "found character '\\t'" in error, _('YAML is indented with blanks, not with tabs')),
    (lambda text, error: text.lstrip().startswith('{') and re.search(r'^\s*(?://|/\*)', text, re.MULTILINE) is not None,
     _('JSON has no comments')),
    (lambda text, error: 'version not found' in error and not text.strip(), _('the file is empty')),
    (lambda text, error: 'version not found' in error,
     _('add "heat_template_version: %s" as the first line') % HOT_DATES[-1]))


def rule_of(error: Exception, otherwise: str) -> str:
    """Return the rule of an error that ends the reading of a file."""
    return next((rule for kind, rule in RULES if isinstance(error, kind)), otherwise)


def unreadable(error: OSError) -> str:
    """Return why a file cannot be read, with a hint if a file beside it has a similar name."""
    if not error.filename or not error.strerror:
        return str(error)
    path, near = Path(error.filename), []
    if not isinstance(error, FileNotFoundError):
        return _('%(file)s cannot be read: %(reason)s') % {'file': path, 'reason': error.strerror}
    with contextlib.suppress(OSError), os.scandir(path.parent) as beside:
        stems = [Path(each).stem for each in itertools.islice(beside, MOST_FILES) if Path(each).suffix == path.suffix]
        near = difflib.get_close_matches(path.stem[:LONGEST_NAME], stems, 1, 0.7)
    return _('There is no file %s') % path + (_('; did you mean "%s"?') % (near[0] + path.suffix) if near else '')


class FileReader:
    """Reads files as the client sends them: each once, under its URL, with the names inside made absolute.

    Templates retain their own text, so that positions are those of the files. `unsaved`: texts by URL that count
    instead of the files.
    """

    def __init__(self, unsaved: Mapping[str, str] | None = None) -> None:
        self.unsaved = {_path_of(url): text for url, text in (unsaved or {}).items()}
        self.files: dict[str, str] = {}
        self.templates: dict[str, Template] = {}
        self.names: dict[str, str] = {}             # URL -> name of the file in findings
        self.texts: dict[str, str] = {}             # the same name -> text
        self.unread: set[str] = set()               # URLs of files of which `problems` tell
        self.remote: set[str] = set()               # URLs of files that are not read, because they are not local
        self.problems: list[LintFinding] = []
        self.last = ''

    def template(self, url: str, name: str | None = None) -> Template:
        """Read the template at a URL and all files it uses. Raises DocumentError, OSError, HeatException."""
        text = self._text(url, name)
        document = templates.parse(text, self.names[url], LIMITS)
        self.templates.pop(url, None)
        resolved = {key: self._resolved(item, url, (key,)) for key, item in document.items()}
        template = Template(resolved, source=self.names[url], text=text)
        self.templates[url] = template
        return template

    def failed(self, error: Exception, otherwise: str = rules.ENVIRONMENT) -> LintFinding:
        """Return the finding for an error that ended the reading of the last file."""
        line, column = getattr(error, 'line', None), getattr(error, 'column', None)
        rule = rule_of(error, otherwise)
        if rule == rules.VERSION:
            positions = Positions(self.texts[self.last])
            line, column = next(filter(None, (positions.find((key,)) for key in VERSION_KEYS)), (None, None))
        elif line is None and isinstance(error, EnvironmentError_) and error.path:
            line, column = Positions(self.texts[self.last]).find(error.path) or (None, None)
        text = self.texts.get(self.last, '')
        hint = None
        if isinstance(error, DocumentError):
            hint = next((hint for is_meant, hint in HINTS if is_meant(text, str(error))), None)
        elif rule == rules.VERSION and (found := _VERSION.search(text)):
            hint = did_you_mean(found[1], VERSIONS)
        return LintFinding(rule, type(error).__name__, str(error), self.last, line, column, hint=hint)

    def _text(self, url: str, name: str | None = None) -> str:
        path = _path_of(url)
        self.names.setdefault(url, name or _shown(path))
        self.last = self.names[url]
        if urlparse(url).scheme != 'file':
            raise FileNotFoundError(_('%s is not a local file') % url)
        text = self.unsaved.get(path)
        if text is None:
            text = Path(path).read_text(encoding='utf-8', errors='replace')
        self.texts[self.names[url]] = text
        return text

    def _resolved(self, value: object, base: str, path: tuple[str | int, ...]) -> object:
        if isinstance(value, Mapping):
            return {name: self._resolved(item, base, (*path, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._resolved(item, base, (*path, number)) for number, item in enumerate(value)]
        key = path[-1] if path else None
        if isinstance(value, str) and key == 'get_file':
            return self._use(urljoin(base, value), path, is_template=False)
        if isinstance(value, str) and key in ('type', 'Type') and templates.is_template_name(value):
            return self._use(urljoin(base, value), path, is_template=True)
        return value

    def _use(self, url: str, path: tuple[str | int, ...], *, is_template: bool) -> str:
        """Read a file that the last one names at `path`. Returns its URL."""
        if urlparse(url).scheme in REMOTE:
            self.remote.add(url)
            return url
        if url in self.files:
            return url
        self.files[url] = ''                        # a template may use itself; the check reports that
        asking = self.last
        try:
            self._check_size(url)
            self.files[url] = json.dumps(self.template(url).document) if is_template else self._text(url)
        except (OSError, *FAILURES) as error:
            del self.files[url]
            self.unread.add(url)
            self.problems.append(self._not_read(error, asking, path) if isinstance(error, OSError)
                                 else self.failed(error, rules.SYNTAX))
        finally:
            self.last = asking
        return url

    def _not_read(self, error: OSError, asking: str, path: tuple[str | int, ...]) -> LintFinding:
        """Return the finding for a file that the file `asking` names at `path`."""
        line, column = Positions(self.texts[asking]).find(path) or (None, None)
        return LintFinding(rules.FILE, type(error).__name__, unreadable(error), asking, line, column, path)

    def _check_size(self, url: str) -> None:
        """Refuse a file without an end, such as a device, and one that is too large. Raises OSError."""
        path = Path(_path_of(url))
        if str(path) in self.unsaved or urlparse(url).scheme != 'file' or not path.exists():
            return
        if not path.is_file():
            raise OSError(_('%s is not a file') % path)
        if path.stat().st_size > MOST_FILE_BYTES:
            raise OSError(_('%(file)s has more than %(limit)d bytes') % {'file': path, 'limit': MOST_FILE_BYTES})

    def environment(self, names: Sequence[str], template: Template,
                    parameters: Mapping[str, object] | None = None) -> dict[str, object]:
        """Read all environment files and merge their sections, and `parameters`, as the service does."""
        texts = {}
        for name in names:
            url = Path(name).absolute().as_uri()
            sections = environments.read(self._text(url, name), LIMITS)
            registry = sections.get('resource_registry')
            if isinstance(registry, Mapping):
                sections['resource_registry'] = self._registry(registry, url)
            texts[name] = json.dumps(sections)
        kinds: dict[str, str] = {}
        for each in [*self.templates.values(), template]:
            with contextlib.suppress(AttributeError):                       # not a map, which the check reports
                for parameter, body in (each.section('parameters') or {}).items():
                    with contextlib.suppress(exception.HeatException):      # reported by the check
                        kinds[parameter] = parameter_definitions.schema_of(parameter, body, each.edition).kind
        return merging.merge_files(list(texts), texts, parameters or {}, kinds, LIMITS)

    def _registry(self, entries: Mapping[str, object], base: str,
                  path: tuple[str, ...] = ('resource_registry',)) -> dict[str, object]:
        given = entries.get(BASE_URL)
        if isinstance(given, str):
            base = given if given.endswith('/') else f'{given}/'
        resolved: dict[str, object] = {}
        for key, value in entries.items():
            if isinstance(value, Mapping):
                resolved[key] = self._registry(value, base, (*path, key))
            elif isinstance(value, str) and '::' not in value and key not in (BASE_URL, DRIFT, HOOKS, RESTRICTED):
                resolved[key] = self._use(urljoin(base, value), (*path, key),
                                          is_template=templates.is_template_name(value))
            else:
                resolved[key] = value
        return resolved


def _path_of(url: str) -> str:
    return unquote(urlparse(url).path)


def _shown(path: str) -> str:
    """Return a path relative to the working directory, if it is below."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
