"""A client of the language server: starts the program, opens documents, asks, and waits for diagnostics."""

import asyncio
import contextlib
import sys

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from heatlite.editing.text import Text

MARK = '|'
PATIENCE = 60                   # seconds until a test gives up; nothing is asserted about time


class Client(LanguageClient):
    """`published`: the diagnostics that came, by (URI, version)."""

    def __init__(self):
        super().__init__('test', '1')
        self.published = {}
        self.arrived = asyncio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params):
            self.published[params.uri, params.version] = list(params.diagnostics)
            self.arrived.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params):
            raise AssertionError(params.message)

    async def begin(self, root, *, encodings=('utf-16',), options=None, snippets=False):
        """`encodings`: None for an editor that names none."""
        item = types.ClientCompletionItemOptions(snippet_support=snippets)
        answer = await self.initialize_async(types.InitializeParams(
            types.ClientCapabilities(
                general=encodings and types.GeneralClientCapabilities(position_encodings=list(encodings)),
                text_document=types.TextDocumentClientCapabilities(
                    completion=types.CompletionClientCapabilities(completion_item=item))),
            process_id=None, root_uri=root.as_uri(), initialization_options=options))
        self.initialized(types.InitializedParams())
        return answer

    def open(self, uri, text, version=1):
        self.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, 'yaml', version, text)))

    def change(self, uri, text, version):
        self.text_document_did_change(types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version, uri),
            [types.TextDocumentContentChangeWholeDocument(text)]))

    async def diagnostics(self, uri, version=1):
        async with asyncio.timeout(PATIENCE):
            while (uri, version) not in self.published:
                self.arrived.clear()
                await self.arrived.wait()
        return self.published[uri, version]


@contextlib.asynccontextmanager
async def started(root, **options):
    """A client of a program that was started, and ends in order."""
    client = Client()
    await client.start_io(sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.language_server', '--stdio')
    try:
        await client.begin(root, **options)
        yield client
        await client.shutdown_async(None)
        client.exit(None)
        async with asyncio.timeout(PATIENCE):
            await client._server.wait()
        assert client._server.returncode == 0
    except BaseException:
        client._server.kill()
        raise
    finally:
        await client.stop()


def cut(text):
    """A text without its mark, and the offset of the mark."""
    assert text.count(MARK) == 1, text
    return text.replace(MARK, ''), text.index(MARK)


def at(uri, text, offset, kind=types.TextDocumentPositionParams, encoding='utf-16', **more):
    """The parameters of a request about an offset."""
    return kind(text_document=types.TextDocumentIdentifier(uri),
                position=types.Position(*Text(text, encoding).position(offset)), **more)


def edited(text, edits, encoding='utf-16'):
    """The text after edits of the protocol."""
    lines = Text(text, encoding)
    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        start, end = (lines.offset(place.line, place.character) for place in (edit.range.start, edit.range.end))
        text = text[:start] + edit.new_text + text[end:]
    return text
