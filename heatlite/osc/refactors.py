"""The command `openstack stack refactor`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import yaml
from heatclient.common import http, template_utils
from osc_lib import exceptions

from heatlite.osc.output import DocumentCommand
from heatlite.osc.plans import Api, as_written

DIFFERS = 2                             # exit code of a dry run for a refactor that would be refused
PASSED = ('stack', 'new', 'new_name', 'existing', 'parameters', 'clear_parameters', 'timeout_mins', 'tags')


class RefactorDefinition(TypedDict, total=False):
    """A stack in the document of a refactor: the keys that are read here; those in PASSED go to the service."""

    template: str | None
    environment: str | list[str] | None


class ShownResourcePlace(TypedDict):
    """A resource of a stack."""

    stack: str
    resource: str


# An end of a move is `from`, which is a word of the language.
Move = TypedDict('Move', {'from': ShownResourcePlace, 'to': ShownResourcePlace})


class RefactorCommand(DocumentCommand):
    """Move resources between names and stacks, and rename stacks; nothing in the cloud changes.

    The exit code is 0 if it is done, or with --dry-run possible; 2 for a dry run of what would be refused.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('file', help='YAML file with the stacks, their new definitions, and the moves')
        parser.add_argument('--dry-run', action='store_true', help='Say what would prevent it, and do nothing')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> int:
        path, api = Path(chosen.file), Api(self.app)
        try:
            wanted = yaml.safe_load(path.read_text(encoding='utf-8'))
            body = {'stacks': [self._stack(api, path.parent, each) for each in wanted['stacks']],
                    'moves': [_move(each) for each in wanted.get('moves') or ()]}
        except (OSError, yaml.YAMLError) as error:
            raise exceptions.CommandError(f'{path}: {error}') from None
        except (KeyError, TypeError, AttributeError):
            raise exceptions.CommandError(
                f'{path}: a map is wanted with "stacks", a list of maps with "stack" and "template", and '
                '"moves", a list of maps with "from" and "to", each STACK/RESOURCE') from None
        found = api.post('/refactors/preview' if chosen.dry_run else '/refactors', body)['refactor']
        self.print(chosen, found, _lines(found))
        return DIFFERS if found['differences'] else 0

    def _stack(self, api: Api, folder: Path, given: RefactorDefinition) -> dict[str, object]:
        """Return the definition of one stack as the service takes it. Files are found from the folder of the document.
        """
        template = given.get('template')
        files, parsed = template_utils.process_template_path(
            None if template is None else _place(folder, template), existing=template is None,
            object_request=http.authenticated_fetcher(api.heat))
        named = given.get('environment') or ()
        names: list[str] = []
        more, environment = template_utils.process_multiple_environments_and_files(
            env_paths=[_place(folder, each) for each in ([named] if isinstance(named, str) else named)],
            env_list_tracker=names)
        body = {**{key: value for key, value in given.items() if key in PASSED}, 'files': {**files, **more},
                'template': as_written(None if template is None else _place(folder, template), parsed),
                'environment': environment, 'environment_files': names or None}
        return {name: value for name, value in body.items() if value not in (None, {})}


def _place(folder: Path, name: str) -> str:
    return name if '://' in name else str(folder / name)


def _move(given: Mapping[str, object]) -> dict[str, dict[str, str]]:
    return {end: dict(zip(('stack', 'resource'), str(given[end]).split('/', 1), strict=True)) for end in ('from', 'to')}


def _lines(found: ShownRefactor) -> tuple[str, ...]:
    """Return a refactor as text for people."""
    moves = [f"  {_name(each['from'])} -> {_name(each['to'])}" for each in found['moves']]
    stacks = [f"  stack {each['stack_name']}{' (new)' if each['is_new'] else ''} {each['id'] or ''}".rstrip()
              for each in found['stacks']]
    differs = [f"  {'/'.join(each['path'])}: {each['action']}{_detail(each)}" for each in found['differences']]
    return (*stacks, *moves, *(['It is refused, as it would change something:', *differs] if differs else ()))


def _name(place: ShownResourcePlace) -> str:
    return f"{place['stack']}/{place['resource']}"


class ShownDifference(TypedDict):
    """Why a refactor is refused: what it would do to a resource, and the value that differs, if it is one."""

    path: list[str]
    action: str
    reason: str | None
    property: list[object] | None
    before: object
    after: object


class ShownRefactoredStack(TypedDict):
    """A stack of a refactor. `id`: None for a new one of a dry run."""

    stack_name: str
    id: str | None
    is_new: bool


class ShownRefactor(TypedDict):
    """A refactor as the service shows it."""

    stacks: list[ShownRefactoredStack]
    moves: list[Move]
    differences: list[ShownDifference]


def _detail(difference: ShownDifference) -> str:
    values = '' if difference['property'] is None else (
        f" {'.'.join(map(str, difference['property']))}: {difference['before']!r} -> {difference['after']!r}")
    return values + (f" ({difference['reason']})" if difference['reason'] else '')
