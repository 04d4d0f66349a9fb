"""heatlite-lint: finds the errors of a template without any service. Exit code 0, 1 with errors, 2 for wrong usage.

It reads nested templates, `get_file` and environment files as the command line client does, and uses the facts of all
built-in resource types; these validate themselves as far as that needs no service. Parameters without a value are
unknown.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote, urljoin, urlparse

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.limits import Limits
from heatlite.engine.requests import offline_types
from heatlite.engine.resources import packed_types
from heatlite.language import advice as advising
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import lint, merging
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language.document import DocumentError
from heatlite.language.registry import BASE_URL, DRIFT, HOOKS, RESTRICTED
from heatlite.language.template import Template

LIMITS = Limits(max_size=10_000_000)
PROBLEM, WARNING = 'error', 'warning'
SARIF_SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json'


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns an exit code."""
    parser = argparse.ArgumentParser(prog='heatlite-lint', description=_('Checks a template and all it uses.'))
    parser.add_argument('template', metavar='TEMPLATE', help=_('a template file'))
    parser.add_argument('-e', '--environment', metavar='ENV', action='append', default=[],
                        help=_('an environment file; may be repeated'))
    parser.add_argument('--format', choices=sorted(WRITERS), default='text')
    try:
        options = parser.parse_args(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        findings = check(options.template, options.environment)
    except OSError as error:
        print(f'heatlite-lint: {error}', file=sys.stderr)
        return 2
    WRITERS[options.format](findings, sys.stdout)
    return 1 if any(finding['level'] == PROBLEM for finding in findings) else 0


def check(template_file: str, environment_files: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Findings, in order. Raises OSError when the template or an environment file cannot be read."""
    reading = Reading()
    try:
        template = reading.template(Path(template_file).absolute().as_uri(), template_file)
        definition = definitions.build(
            template, environments.Environment(reading.environment(environment_files, template), OPERATOR),
            reading.files, definitions.StackIdentity(Path(template_file).stem, None, 'project'), limits=LIMITS,
            assume_unknown=True)
        diagnostics = lint.check(definition, offline_types.OfflineTypes(), known=reading.templates)
    except (exception.HeatException, DocumentError) as error:
        line, column = getattr(error, 'line', None), getattr(error, 'column', None)
        return [*reading.problems, _finding(PROBLEM, type(error).__name__, str(error), reading.last, line, column)]
    found = [*reading.problems, *(_of_complaint(diagnostic, reading) for diagnostic in diagnostics)]
    return found + [
        _finding(WARNING, 'Advice', advice.text, template_file, advice.line, advice.column, advice.path, advice.hint)
        for advice in advising.advise(definition)]


OPERATOR = packed_types.operator_registry()


class Reading:
    """Reads files as the client sends them: each once, under its URL, with the names inside made absolute.

    Templates retain their own text, so that positions are those of the files.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.templates: dict[str, Template] = {}
        self.names: dict[str, str] = {}             # URL -> name of the file in findings
        self.problems: list[dict[str, Any]] = []
        self.last = ''

    def template(self, url: str, name: str | None = None) -> Template:
        """Reads the template at a URL and all files it uses. Raises DocumentError, OSError, HeatException."""
        text = self._text(url, name)
        document = templates.parse(text, self.names[url], LIMITS)
        self.templates.pop(url, None)
        template = Template(self._resolved(document, url), source=self.names[url], text=text)
        self.templates[url] = template
        return template

    def _text(self, url: str, name: str | None = None) -> str:
        path = unquote(urlparse(url).path)
        self.names.setdefault(url, name or _shown(path))
        self.last = self.names[url]
        if urlparse(url).scheme != 'file':
            raise FileNotFoundError(_('%s is not a local file') % url)
        return Path(path).read_text(encoding='utf-8', errors='replace')

    def _resolved(self, value: Any, base: str, key: str | None = None) -> Any:
        if isinstance(value, Mapping):
            return {name: self._resolved(item, base, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._resolved(item, base) for item in value]
        if isinstance(value, str) and key == 'get_file':
            return self._use(urljoin(base, value), is_template=False)
        if isinstance(value, str) and key in ('type', 'Type') and templates.is_template_name(value):
            return self._use(urljoin(base, value), is_template=True)
        return value

    def _use(self, url: str, *, is_template: bool) -> str:
        if url in self.files:
            return url
        self.files[url] = ''                        # a template may use itself; the check reports that
        asking = self.last
        try:
            self.files[url] = json.dumps(self.template(url).document) if is_template else self._text(url)
        except (OSError, DocumentError, exception.HeatException) as error:
            del self.files[url]
            place = self.last if not isinstance(error, OSError) else asking
            self.problems.append(_finding(PROBLEM, type(error).__name__, str(error), place,
                                          getattr(error, 'line', None), getattr(error, 'column', None)))
        finally:
            self.last = asking
        return url

    def environment(self, names: Sequence[str], template: Template) -> dict[str, Any]:
        """Reads all environment files and merges their sections as the service does."""
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
            for parameter, body in (each.section('parameters') or {}).items():
                with contextlib.suppress(exception.HeatException):      # reported by the check
                    kinds[parameter] = parameter_definitions.schema_of(parameter, body, each.edition).kind
        return merging.merge_files(list(texts), texts, {}, kinds, LIMITS)

    def _registry(self, entries: Mapping[str, Any], base: str) -> dict[str, Any]:
        given = entries.get(BASE_URL)
        if isinstance(given, str):
            base = given if given.endswith('/') else f'{given}/'
        resolved: dict[str, Any] = {}
        for key, value in entries.items():
            if isinstance(value, Mapping):
                resolved[key] = self._registry(value, base)
            elif isinstance(value, str) and '::' not in value and key not in (BASE_URL, DRIFT, HOOKS, RESTRICTED):
                resolved[key] = self._use(urljoin(base, value), is_template=templates.is_template_name(value))
            else:
                resolved[key] = value
        return resolved


def _shown(path: str) -> str:
    """A path relative to the working directory, if it is below."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _of_complaint(diagnostic: lint.Diagnostic, reading: Reading) -> dict[str, Any]:
    error = diagnostic.error
    text = error.first_line if isinstance(error, exception.StackValidationFailed) else str(error)
    return _finding(PROBLEM, type(error).__name__, text, reading.names.get(diagnostic.file, diagnostic.file),
                    diagnostic.line, diagnostic.column, diagnostic.path, diagnostic.hint, diagnostic.found,
                    diagnostic.expected)


def _finding(level: str, kind: str, text: str, file: str, line: int | None = None, column: int | None = None,
             path: Sequence[Any] = (), hint: str | None = None, found: Any = None,
             expected: Sequence[str] = ()) -> dict[str, Any]:
    return {'level': level, 'type': kind, 'message': text, 'file': file, 'line': line, 'column': column,
            'path': list(path), 'hint': hint, 'found': found, 'expected': list(expected)}


# --- formats of findings --------------------------------------------------------------------------------------

def write_text(findings: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    for finding in findings:
        place = finding['file']
        if finding['line'] is not None:
            place += f':{finding["line"]}:{finding["column"]}'
        hint = f' ({finding["hint"]})' if finding['hint'] else ''
        print(f'{place}: {finding["level"]}: {finding["message"]}{hint}', file=stream)


def write_json(findings: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    json.dump(list(findings), stream, indent=2, default=str)
    stream.write('\n')


def write_sarif(findings: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    """Writes SARIF 2.1.0, for code hosts and editors."""
    results = [{
        'ruleId': finding['type'], 'level': finding['level'],
        'message': {'text': finding['message'] + (f' ({finding["hint"]})' if finding['hint'] else '')},
        'locations': [{'physicalLocation': {
            'artifactLocation': {'uri': Path(finding['file']).as_posix()},
            **({'region': {'startLine': finding['line'], 'startColumn': finding['column']}}
               if finding['line'] is not None else {})}}],
    } for finding in findings]
    rules = [{'id': name} for name in sorted({finding['type'] for finding in findings})]
    json.dump({'$schema': SARIF_SCHEMA, 'version': '2.1.0', 'runs': [
        {'tool': {'driver': {'name': 'heatlite-lint', 'rules': rules}}, 'results': results}]}, stream, indent=2)
    stream.write('\n')


WRITERS = {'text': write_text, 'json': write_json, 'sarif': write_sarif}

if __name__ == '__main__':
    sys.exit(main())
