"""The command `openstack stack explain`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import yaml

from heatlite.osc.explanation import (
    Explanation,
    OfResource,
    OfStack,
    ShownPlace,
    ShownReplaced,
    ShownSpan,
    ShownWaiting,
)
from heatlite.osc.output import DocumentCommand
from heatlite.osc.plans import Api

SHOWN = 10                              # entries of each list


class ExplainStackCommand(DocumentCommand):
    """Explain what a stack or one of its resources waits for, or why it failed, and what to do."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        parser.add_argument('--resource', metavar='PATH',
                            help='Explain this resource; names with slashes between, from the stack down')
        parser.add_argument('-t', '--template', metavar='FILE',
                            help='The template that the stack was made from: lines in it are shown')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        resource = f'/resources/{quote(chosen.resource)}' if chosen.resource else ''
        found = api.get(f'{api.stack(chosen.stack)}{resource}/explain')['explanation']
        if chosen.template:
            locate(found, Path(chosen.template))
        self.print(chosen, found, resource_lines(found) if resource else lines(found))


def locate(found: OfStack | OfResource, template: Path) -> None:
    """Add the line and column of what is written in the template itself, which the service has parsed only."""
    document = yaml.compose(template.read_text(), Loader=yaml.SafeLoader)
    for place in [*(cause['place'] for cause in found['causes']), *([found['place']] if 'place' in found else ())]:
        if place['file'] is None:
            place['line'], place['column'] = position(document, place['path'].split('.'))


def position(node: yaml.Node | None, path: Sequence[str]) -> tuple[int | None, int | None]:
    """Return line and column, from 1, of the key at `path`, else of the longest part of it that exists."""
    found: tuple[int | None, int | None] = (None, None)
    for name in path:
        if not isinstance(node, yaml.MappingNode):
            break
        key, node = next(((key, value) for key, value in node.value if key.value == name), (None, None))
        if key is not None:
            found = key.start_mark.line + 1, key.start_mark.column + 1
    return found


def written(place: ShownPlace) -> str:
    """Return a place as text: FILE:LINE:COLUMN PATH, as far as it is known."""
    file = place['file'] or 'template'
    return (f"{file}:{place['line']}:{place['column']} " if place['line'] else f'{file} ') + (place['path'] or '')


def resource_lines(found: OfResource) -> Iterator[str]:
    """Yield the lines of the explanation of a resource."""
    yield f"{'/'.join(found['path'])} ({found['type']}) {found['action']}_{found['status']} since {found['since']}"
    yield f"  {found['state']}" + (f": {found['status_reason']}" if found['status_reason'] else '')
    yield f"  written at {written(found['place'])}"
    yield f"  object {found['physical_resource_id'] or 'not known yet'}"
    yield from _causes(found)
    yield from _waiting_for(found)
    for path in found['waits_for'][:SHOWN]:
        yield f"  needs {'/'.join(path)}"
    yield from _not_started(found)
    if found.get('gives_up_at'):
        yield f"  gives up at {found['gives_up_at']}"
    for run in found['runs'][:SHOWN]:
        yield f"  {run['since']} {run['action']}_{run['status']} {run['seconds']} s"


def lines(found: OfStack) -> Iterator[str]:
    """Yield the lines of an explanation."""
    yield f"{found['stack_name']} {found['action']}_{found['status']} since {found['since']}"
    yield found['summary']
    yield from _causes(found)
    yield from _waiting_for(found)
    for each in found['blocked'][:SHOWN]:
        needs = ', '.join('/'.join(path) for path in each['waits_for'])
        yield f"  not begun: {'/'.join(each['path'])}" + (f', needs {needs}' if needs else '')
    yield from _not_started(found)
    if found.get('engine_host'):
        yield f"  driven by {found['engine_host']} ({found['engine']})"
    if found['gives_up_at']:
        yield f"  gives up at {found['gives_up_at']}"
    if found['critical_path']:
        yield '  slowest chain: ' + ', '.join(
            f"{'/'.join(each['path'])} {each['seconds']} s{_last_time(each)}"
            for each in found['critical_path'][-SHOWN:])
    for new in found.get('replaced', ())[:SHOWN]:       # a service of the previous release tells none
        yield f"  replaced: {'/'.join(new['path'])} because {_why_replaced(new)}"


def _last_time(span: ShownSpan) -> str:
    return '' if span.get('seconds_before') is None else f" (last time {span['seconds_before']} s)"


def _why_replaced(found: ShownReplaced) -> str:
    cause = found.get('cause')                          # a service of the previous release tells none
    if cause:
        own = f" ({', '.join(found['properties'])} changed, too)" if found['properties'] else ''
        return cause['text'] + own
    return 'of ' + (', '.join(found['properties']) or ', '.join('/'.join(path) for path in found['because_of'])
                    or 'a value that its definition takes from elsewhere')


def _causes(found: Explanation) -> Iterator[str]:
    for each in found['causes'][:SHOWN]:
        yield (f"  failed: {'/'.join(each['path'])} ({each['type']}) {each['action']} at {each['time']}"
               f"{_attempts(each.get('attempts', 1))}:")
        yield f"    {each['reason']}"
        yield f"    written at {written(each['place'])}"
        if each['advice']:
            yield f"    {each['advice']}"


def _attempts(number: int) -> str:
    return f', the last of {number} attempts' if number > 1 else ''


def _waiting_for(found: Explanation) -> Iterator[str]:
    for each in found['waiting_for'][:SHOWN]:
        yield (f"  waits for: {'/'.join(each['path'])} ({each['type']}) {each['action']} for {each['seconds']} s, "
               f"object {each['physical_resource_id'] or 'not known yet'}")
        yield from _next_call(each)


def _next_call(found: ShownWaiting) -> Iterator[str]:
    if not found.get('call'):                           # also of a service of the previous release
        return
    yield (f"    {found['call']} is called again at {found['next_at']}" if found['next_at']
           else f"    {found['call']} has not returned")
    answer = found['last_answer']
    if answer:
        status = f"{answer['status']} {answer['said']}".rstrip() if answer['status'] else f"no answer: {answer['said']}"
        request_id = f" ({answer['request_id']})" if answer['request_id'] else ''
        yield f"    {answer['at']} {answer['service']} {answer['method']} {answer['path']}: {status}{request_id}"


def _not_started(found: Explanation) -> Iterator[str]:
    for path in found['not_started'][:SHOWN]:
        yield f"  not started because of it: {'/'.join(path)}"
