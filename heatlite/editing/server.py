"""The language server: documents, threads and messages. What is answered is decided in the modules beside it.

Requests are answered by the event loop. The linter runs in one thread, after the author has paused; a result for a
text that has changed since is dropped.
"""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from heatlite.editing import (
    completing,
    describing,
    diagnosing,
    files,
    formatting,
    hovering,
    meaning,
    navigating,
    protocol,
    repairing,
    structure,
)
from heatlite.editing.diagnosing import EditorDiagnostic, EditorSettings
from heatlite.editing.outline import Outline
from heatlite.editing.text import Text

NAME: Final = 'heatlite-language-server'
LOOPBACK: Final = '127.0.0.1'
PAUSE: Final = 0.3                      # seconds without a change until a document is checked
TRIGGERS: Final = [':', ' ', '{', '[', ',', '"', '=']


@dataclass(frozen=True)
class OpenDocument:
    """One version of an open document. `outline` is None if it is too large; `previous`: that of the last version that
    could be read to its end."""

    uri: str
    path: Path
    version: int | None
    text: Text
    outline: Outline | None
    previous: Outline | None


class EditorServer(LanguageServer):
    """The state of the connection with one editor."""

    def __init__(self) -> None:
        super().__init__(NAME, metadata.version('heatlite'), types.TextDocumentSyncKind.Full)
        self.settings = EditorSettings()
        self.found: dict[str, tuple[OpenDocument, list[EditorDiagnostic]]] = {}     # by URI: the linter's last result
        self._documents: dict[str, OpenDocument] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._linter = ThreadPoolExecutor(max_workers=1, thread_name_prefix='linter')

    # --- documents --------------------------------------------------------------------------------------------------

    def read(self, uri: str) -> OpenDocument | None:
        """Return the current version of an open document."""
        source = self.workspace.text_documents.get(unquote(uri)) or self.workspace.text_documents.get(uri)
        if source is None:
            return None
        known = self._documents.get(uri)
        if known is not None and known.version == source.version and known.text.text == source.source:
            return known
        text = source.source
        outline = None if diagnosing.is_too_large(text) else Outline(text)
        previous = known.outline if known is not None and known.outline is not None and (
            known.outline.tree.is_whole) else known.previous if known is not None else None
        self._documents[uri] = OpenDocument(uri, self._path(uri), source.version, Text(text, self._encoding), outline,
                                            previous)
        return self._documents[uri]

    @property
    def _encoding(self) -> str:
        # The library's own default, for clients that name none, is a member; a name that a client sent is a text.
        return types.PositionEncodingKind(self.workspace.position_encoding).value

    @property
    def root(self) -> Path:
        return Path(self.workspace.root_path or Path.cwd()).absolute()

    def _path(self, uri: str) -> Path:
        """Return the absolute path of a document; one in the folder of the workspace for a document without a file."""
        name = to_fs_path(uri)
        return Path(name).absolute() if name else self.root / (Path(unquote(urlparse(uri).path)).name or 'untitled')

    def open_documents(self) -> list[OpenDocument]:
        return [found for each in list(self.workspace.text_documents.values())
                if (found := self.read(each.uri)) is not None]

    def close(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._documents.pop(uri, None)
        self.found.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    # --- diagnostics ------------------------------------------------------------------------------------------------

    def configure(self, given: object) -> None:
        wanted = protocol.settings(given)
        self.settings = replace(wanted, environments=tuple(str(self.root / name) for name in wanted.environments))

    def check_soon(self, uri: str, pause: float = PAUSE) -> None:
        """Check a document after a pause, which begins again with each call."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(pause, lambda: loop.create_task(self._check(uri)))

    def check_all(self) -> None:
        for document in self.open_documents():
            self.check_soon(document.uri)

    async def _check(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        document = self.read(uri)
        if document is None:
            return
        texts = {each.path.as_uri(): each.text.text for each in self.open_documents()}
        found = await asyncio.get_running_loop().run_in_executor(self._linter, functools.partial(
            diagnosing.diagnose, document.path, texts, document.outline, self.settings))
        if self.read(uri) is not document:
            return
        self.found[uri] = document, found
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(
            uri, [protocol.diagnostic(document.text, each, self.settings) for each in found], document.version))

    def shutdown(self) -> None:
        self._linter.shutdown(wait=False, cancel_futures=True)
        super().shutdown()  # type: ignore[no-untyped-call]

    @property
    def with_snippets(self) -> bool:
        completion = getattr(self.client_capabilities.text_document, 'completion', None)
        return bool(getattr(getattr(completion, 'completion_item', None), 'snippet_support', False))


def make() -> EditorServer:
    """Return the server with its features, not yet connected."""
    server = EditorServer()
    _documents(server)
    _requests(server)
    return server


def _documents(server: EditorServer) -> None:
    """Register what follows the documents and settings of the editor."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params.initialization_options)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.check_soon(params.text_document.uri, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        server.check_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(_params: types.DidSaveTextDocumentParams) -> None:
        server.check_all()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        server.configure(params.settings)
        server.check_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(_params: types.DidChangeWatchedFilesParams) -> None:
        server.check_all()


Position = tuple[OpenDocument, Outline, int]


class _OfDocument(Protocol):
    """The parameters of a request about a document."""

    text_document: types.TextDocumentIdentifier


class _OfPlace(_OfDocument, Protocol):
    """The parameters of a request about a place in a document."""

    position: types.Position


def _at(server: EditorServer, params: _OfPlace) -> Position | None:
    """Return the document, its outline and the offset that a request is about; None for an unknown or too large
    document."""
    document = server.read(params.text_document.uri)
    if document is None or document.outline is None:
        return None
    return document, document.outline, document.text.offset(params.position.line, params.position.character)


def _whole(server: EditorServer, params: _OfDocument) -> tuple[OpenDocument, Outline] | None:
    document = server.read(params.text_document.uri)
    return None if document is None or document.outline is None else (document, document.outline)


def _requests(server: EditorServer) -> None:
    """Register the requests of the editor."""
    for register in (_writing, _names, _shape):
        register(server)


def _writing(server: EditorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION,
                    types.CompletionOptions(trigger_characters=TRIGGERS, resolve_provider=True))
    def completion(params: types.CompletionParams) -> types.CompletionList | None:
        place = _at(server, params)
        if place is None:
            return None
        document, outline, offset = place
        earlier = [document.previous] if document.previous is not None else []
        found = completing.complete(document.text.text, offset, [outline, *earlier])
        return protocol.completion(document.text, found, with_snippets=server.with_snippets)

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    def resolve(item: types.CompletionItem) -> types.CompletionItem:
        type_name = meaning.built_in(item.label) if item.kind == types.CompletionItemKind.Class else None
        if type_name is not None:
            item.documentation = protocol.markdown(describing.of_type(type_name))
        return item

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        place = _at(server, params)
        found = hovering.hover(place[1], place[2]) if place is not None else None
        return protocol.hover(place[0].text, found) if place is not None and found is not None else None

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION,
                    types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        current = _whole(server, params)
        document, found = server.found.get(params.text_document.uri, (None, []))
        if current is None or document is not current[0]:
            return []                               # the findings are those of another version
        first, last = (document.text.offset(place.line, place.character)
                       for place in (params.range.start, params.range.end))
        return [protocol.action(document.uri, document.text, repair,
                                protocol.diagnostic(document.text, each, server.settings))
                for each in found if each.span.start <= last and first <= each.span.end
                for repair in repairing.repairs(current[1], document.text, each)]


def _names(server: EditorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        place = _at(server, params)
        if place is None:
            return None
        document, outline, offset = place
        span = navigating.definition(outline, offset)
        if span is not None:
            return types.Location(document.uri, protocol.range_of(document.text, span))
        start = types.Position(0, 0)
        return next((types.Location(use.path.as_uri(), types.Range(start, start))
                     for use in files.used(outline, document.path.as_uri())
                     if use.node.span.holds(offset) and use.path is not None and use.path.is_file()), None)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(params: types.ReferenceParams) -> list[types.Location]:
        place = _at(server, params)
        if place is None:
            return []
        document, outline, offset = place
        return [types.Location(document.uri, protocol.range_of(document.text, span)) for span in navigating.references(
            outline, offset, with_declaration=params.context.include_declaration)]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        place = _at(server, params)
        return [] if place is None else [types.DocumentHighlight(protocol.range_of(place[0].text, span))
                                         for span in navigating.references(place[1], place[2])]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        place = _at(server, params)
        found = navigating.renamed_word(place[1], place[2]) if place is not None else None
        return types.PrepareRenamePlaceholder(protocol.range_of(place[0].text, found[0]), found[1]) if (
            place is not None and found is not None) else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        place = _at(server, params)
        if place is None:
            return None
        try:
            found = navigating.rename(place[1], place[2], params.new_name)
        except navigating.NotRenamed as error:
            raise JsonRpcInvalidParams(str(error)) from None
        return types.WorkspaceEdit(changes={place[0].uri: protocol.edits(place[0].text, found)})


def _shape(server: EditorServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        found = _whole(server, params)
        return protocol.symbols(found[0].text, structure.symbols(found[1])) if found is not None else []

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folds(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        found = _whole(server, params)
        return [types.FoldingRange(first, last) for first, last in structure.folds(found[1], found[0].text)] if (
            found is not None) else []

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatted(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        found = _whole(server, params)
        return protocol.edits(found[0].text, formatting.edits(found[0].text.text, params.options.tab_size)) if (
            found is not None) else []


