"""The language server as an editor uses it: the real program over its standard input and output, or a socket."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from heatlite.common import limits
from tests.editing.client import PATIENCE, Client, at, cut, edited, started
from tests.system.processes import free_port

HEAD = 'heat_template_version: 2021-04-16\n'
SHOP = f'''{HEAD}description: "Läden 🛒"
parameters:
  grösse: {{type: number, default: 1}}
resources:
  first:
    type: OS::Heat::Value
    properties: {{value: "🛒 {{}}", type: string}}   # 🛒
  second:
    type: OS::Heat::Value
    depends_on: first
    properties:
      value: ["🛒🛒", {{get_attr: [first, value]}}, {{get_param: grösse}}]
'''


def run(steps):
    """In a thread of its own: a browser that other tests drive leaves an event loop in theirs."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, steps).result()


def test_a_session(tmp_path):
    async def steps():
        async with started(tmp_path) as client:
            uri = (tmp_path / 'shop.yaml').as_uri()
            client.open(uri, SHOP)
            assert await client.diagnostics(uri) == []

            broken = SHOP.replace('depends_on: first', 'depends_on: [first')
            client.change(uri, broken, 2)
            [found] = await client.diagnostics(uri, 2)
            assert (found.code, found.severity) == ('HL001', types.DiagnosticSeverity.Error)

            written, offset = cut(SHOP.replace('depends_on: first', 'depends_on: [|'))
            client.change(uri, written, 3)
            found = await client.text_document_completion_async(at(uri, written, offset, types.CompletionParams))
            assert [item.label for item in found.items] == ['first']

            client.change(uri, SHOP, 4)
            place = SHOP.index('first, value')
            found = await client.text_document_hover_async(at(uri, SHOP, place, types.HoverParams))
            assert 'OS::Heat::Value' in found.contents.value
            found = await client.text_document_definition_async(at(uri, SHOP, place, types.DefinitionParams))
            assert (found.uri, found.range.start) == (uri, types.Position(5, 2))
            found = await client.text_document_references_async(at(
                uri, SHOP, place, types.ReferenceParams, context=types.ReferenceContext(include_declaration=True)))
            places = [(each.range.start.line, each.range.start.character) for each in found]
            assert places == [(5, 2), (10, 16), (12, 34)]           # each cart counts two units
            found = await client.text_document_rename_async(at(uri, SHOP, place, types.RenameParams, new_name='erste'))
            renamed = edited(SHOP, found.changes[uri])
            assert renamed == SHOP.replace('first', 'erste')
            with pytest.raises(JsonRpcException, match='There is already the resource "second"'):
                await client.text_document_rename_async(at(uri, SHOP, place, types.RenameParams, new_name='second'))

            found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(
                types.TextDocumentIdentifier(uri)))
            assert [(each.name, [one.name for one in each.children or ()]) for each in found] == [
                ('heat_template_version', []), ('description', []), ('parameters', ['grösse']),
                ('resources', ['first', 'second'])]
            found = await client.text_document_folding_range_async(types.FoldingRangeParams(
                types.TextDocumentIdentifier(uri)))
            assert (8, 12) in [(each.start_line, each.end_line) for each in found]

            ugly = SHOP.replace('\n    ', '\n      ') + '\n\n'
            client.change(uri, ugly, 5)
            found = await client.text_document_formatting_async(types.DocumentFormattingParams(
                types.TextDocumentIdentifier(uri), types.FormattingOptions(tab_size=2, insert_spaces=True)))
            assert edited(ugly, found) == SHOP
    run(steps())


def test_repairs(tmp_path):
    text = HEAD + 'parameters:\n  spare: {type: string}\nresources:\n  a:\n    type: OS::Heat::Value\n'

    async def steps():
        async with started(tmp_path, options={'documentation': 'https://docs.example.org/'}) as client:
            uri = (tmp_path / 'a.yaml').as_uri()
            client.open(uri, text)
            found = {each.code: each for each in await client.diagnostics(uri)}
            assert set(found) == {'HL302', 'HL508'}
            assert found['HL508'].code_description.href == 'https://docs.example.org/users/lint.html#hl508'
            assert list(found['HL508'].tags) == [types.DiagnosticTag.Unnecessary]
            now = text
            for version, (code, title) in enumerate(
                    [('HL302', 'Insert the required property "value"'), ('HL508', 'Disable HL508 in this line')], 2):
                actions = await client.text_document_code_action_async(types.CodeActionParams(
                    types.TextDocumentIdentifier(uri), found[code].range, types.CodeActionContext([found[code]])))
                action = next(each for each in actions if each.title == title)
                now = edited(now, action.edit.changes[uri])
                client.change(uri, now, version)
                found = {each.code: each for each in await client.diagnostics(uri, version)}
            assert found == {}
            assert now == text.replace('string}', 'string}  # heatlite-lint: disable=HL508') + (
                '    properties:\n      value: text\n')
    run(steps())


@pytest.mark.parametrize('named, encoding', [
    (['utf-8'], 'utf-8'), (['utf-16'], 'utf-16'), (['utf-32'], 'utf-32'), (['utf-7'], 'utf-16'), (None, 'utf-16')])
def test_positions_are_in_the_units_that_were_agreed_on(tmp_path, named, encoding):
    async def steps():
        async with started(tmp_path, encodings=named) as client:
            uri = (tmp_path / 'a.yaml').as_uri()
            text = SHOP.replace('[first, value]', '[first, valeu]')
            client.open(uri, text)
            [found] = await client.diagnostics(uri)
            assert found.code == 'HL206'
            line = text.splitlines()[found.range.start.line]
            codec, width = {'utf-8': ('utf-8', 1), 'utf-16': ('utf-16-le', 2), 'utf-32': ('utf-32-le', 4)}[encoding]
            before = line.encode(codec)[:found.range.start.character * width].decode(codec)
            assert before == '      value: ["🛒🛒", {'
            place = at(uri, text, text.index('{get_param: grö') + 14, types.DefinitionParams, encoding)
            target = await client.text_document_definition_async(place)
            assert target.range.end.character - target.range.start.character == (7 if encoding == 'utf-8' else 6)
    run(steps())


def test_files_and_environments(tmp_path):
    (tmp_path / 'ü b').mkdir()
    child = tmp_path / 'ü b' / 'child.yaml'
    child.write_text(HEAD + 'resources:\n  r: {type: OS::Heat::Value, properties: {valu: 1, value: 1}}\n')
    (tmp_path / 'env.yaml').write_text('parameter_defaults: {size: large}\n')
    root = f'{HEAD}parameters:\n  size: {{type: number}}\nresources:\n  c: {{type: "ü b/child.yaml"}}\n' \
        'outputs:\n  o: {value: [{get_param: size}, {get_file: missing.txt}]}\n'

    async def steps():
        async with started(tmp_path, options={'environments': ['env.yaml']}) as client:
            uri = (tmp_path / 'root.yaml').as_uri()
            client.open(uri, root)
            found = {each.code: each for each in await client.diagnostics(uri)}
            assert set(found) == {'HL104', 'HL301', 'HL004'}
            assert found['HL004'].range.start == types.Position(6, 44)
            [related] = found['HL301'].related_information
            assert related.location.uri == child.as_uri() and related.location.range.start.line == 2
            place = at(uri, root, root.index('child.yaml'), types.DefinitionParams)
            assert (await client.text_document_definition_async(place)).uri == child.as_uri()
            place = at(uri, root, root.index('missing.txt'), types.DefinitionParams)
            assert await client.text_document_definition_async(place) is None

            # A change of the nested template that is not saved counts.
            client.open(child.as_uri(), child.read_text().replace('valu: 1, ', ''))
            client.change(uri, root.replace('c:', 'd:'), 2)
            assert 'HL301' not in {each.code for each in await client.diagnostics(uri, 2)}

            environment = (tmp_path / 'other.yaml').as_uri()
            client.open(environment, 'resource_registry:\n  My::Type: none.yaml\nparameter: {}\n')
            found = await client.diagnostics(environment)
            assert [(each.code, each.range.start.line) for each in found] == [('HL005', 2)]
            client.change(environment, 'resource_registry:\n  My::Type: none.yaml\n', 2)
            found = await client.diagnostics(environment, 2)
            assert [(each.code, each.range.start) for each in found] == [('HL004', types.Position(1, 12))]

            foreign = (tmp_path / 'compose.yaml').as_uri()
            client.open(foreign, 'services: {web: {image: x}}\n')
            assert await client.diagnostics(foreign) == []
    run(steps())


def test_hostile_documents(tmp_path):
    lol = 'a0: &a0 [x]\n' + ''.join(f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]\n' for i in range(1, 40))
    hostile = {
        'aliases': (HEAD + f'resources: {{r: {{type: OS::Heat::Value, properties: {{value: *a39}}}}}}\n{lol}', 'HL001'),
        'bomb': (HEAD + lol + 'resources: {r: {type: OS::Heat::Value, properties: {value: *a39}}}\n', 'HL003'),
        'deep': (HEAD + 'resources: {r: {type: OS::Heat::Value, properties: {value: ' + '[' * 20000, 'HL003'),
        'device': (HEAD + 'outputs: {o: {value: {get_file: /dev/zero}}}\n', 'HL004'),
        'large': (HEAD + '#' * limits.USUAL.max_size, 'HL003'),
        'blank': (HEAD + 'resources: {r: {}}\n' + '\n' * 500_000, 'HL103'),
        'comments': (HEAD + 'resources: {r: {}}\n' + '#\n' * 250_000, 'HL103'),
        'maps': (HEAD + 'resources: {r: {type: OS::Heat::RandomString, properties: ' + '{value: ' * 3000 + '}' * 3002,
                 'HL301'),
        'word': (HEAD + 'resources: {r: {type: ' + 'a' * 400_000 + '!}}', 'HL201'),
        'line': (f'{{"heat_template_version": "2021-04-16", {", ".join(f"ö{i}: 1" for i in range(40_000))}}}', 'HL101'),
        'parameters': (HEAD + 'parameters:\n' + ''.join(f'  p{i}: {{type: string}}\n' for i in range(20_000)), 'HL508'),
        'itself': (HEAD + 'resources: {r: {type: itself.yaml}}\n', 'HL003')}

    async def steps():
        async with started(tmp_path) as client:
            for name, (text, code) in hostile.items():
                uri = (tmp_path / f'{name}.yaml').as_uri()
                client.open(uri, text)
                found = await client.diagnostics(uri)
                assert code in {each.code for each in found}, (name, found)
                for offset in (len(HEAD) + 2, len(text) // 2, len(text) - 3):
                    await client.text_document_completion_async(at(uri, text, offset, types.CompletionParams))
                    await client.text_document_hover_async(at(uri, text, offset, types.HoverParams))
                await client.text_document_document_symbol_async(types.DocumentSymbolParams(
                    types.TextDocumentIdentifier(uri)))
                await client.text_document_formatting_async(types.DocumentFormattingParams(
                    types.TextDocumentIdentifier(uri), types.FormattingOptions(tab_size=2, insert_spaces=True)))
            assert len(await client.diagnostics((tmp_path / 'large.yaml').as_uri())) == 1
    run(steps())


def test_closed_documents_have_no_diagnostics(tmp_path):
    async def steps():
        async with started(tmp_path) as client:
            client.open('untitled:Untitled-1', HEAD + 'resources: {r: {}}\n')
            [found] = await client.diagnostics('untitled:Untitled-1')
            assert found.code == 'HL103'
            client.text_document_did_close(types.DidCloseTextDocumentParams(
                types.TextDocumentIdentifier('untitled:Untitled-1')))
            assert await client.diagnostics('untitled:Untitled-1', None) == []
    run(steps())


def test_an_editor_connects_by_a_port_of_loopback(tmp_path):
    async def steps():
        port = free_port()
        process = await asyncio.create_subprocess_exec(
            sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.language_server', '--tcp', str(port))
        try:
            client = Client()
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        await client.start_tcp('127.0.0.1', port)
                        break
                    except OSError:
                        await asyncio.sleep(0.1)
            await client.begin(tmp_path)
            client.open('file:///a.yaml', HEAD + 'resources: {r: {}}\n')
            [found] = await client.diagnostics('file:///a.yaml')
            assert found.code == 'HL103'
            await client.shutdown_async(None)
            client.exit(None)
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    run(steps())


def test_the_program_ends_with_its_editor(tmp_path):
    async def steps():
        process = await asyncio.create_subprocess_exec(
            sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.language_server', stdin=asyncio.subprocess.PIPE)
        process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    run(steps())
