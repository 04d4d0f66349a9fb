/** The editor of templates. In a shadow root: its styles are then objects, which the content policy allows. */
import { autocompletion, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, defaultHighlightStyle, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Text } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers, type Tooltip } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { complete, explain } from './completion'
import type { Knowledge } from './knowledge'

export interface Complaint {
  line: number
  column: number
  message: string
}

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', color: 'var(--ink)', backgroundColor: 'var(--raised)' },
  '.cm-content': { fontFamily: 'ui-monospace, monospace', caretColor: 'var(--accent)', padding: '8px 0' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent) !important' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--edge)', borderRadius: '6px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionInfo, .explained': { maxWidth: '28em', padding: '6px 10px', whiteSpace: 'pre-wrap', fontSize: '12px' },
  '.cm-completionDetail': { color: 'var(--soft)', marginLeft: '1em' },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '&.cm-focused': { outline: 'none' },
})
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-key)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
])

/** A text that is put together when it is asked for, and once: that of 5 MB takes longer than a key may. */
export type Source = () => string

function textOf(document: Text): Source {
  let text: string | null = null
  return () => (text ??= document.toString())
}

/** `value`: what it begins with. */
export function Editor({ value, change, complaints, knowledge, label, readOnly = false }: {
  value: string; change: (text: Source) => void; complaints: Complaint[]; knowledge: Knowledge; label: string; readOnly?: boolean
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const latest = useRef({ change, knowledge })
  latest.current = { change, knowledge }
  useEffect(() => {
    if (!place.current) return
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: 'open' })
    const made = new EditorView({
      root, parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), highlightSelectionMatches(),
          yaml(), syntaxHighlighting(colours), syntaxHighlighting(defaultHighlightStyle, { fallback: true }), lintGutter(), look,
          autocompletion({ override: [(context) => complete(context, latest.current.knowledge)] }),
          hoverTooltip((made, position) => explained(made, position, latest.current.knowledge)),
          keymap.of([indentWithTab, ...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap]),
          EditorState.readOnly.of(readOnly), EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of((update) => update.docChanged && latest.current.change(textOf(update.state.doc))),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [])
  useEffect(() => {
    const made = view.current
    if (made) made.dispatch(setDiagnostics(made.state, complaints.map((each) => diagnostic(made.state, each))))
  }, [complaints])
  return <div class="editor" ref={place} />
}

async function explained(made: EditorView, position: number, knowledge: Knowledge): Promise<Tooltip | null> {
  const found = await explain(made.state.doc, position, knowledge)
  return found && { pos: found.from, end: found.to, above: true, create: () => {
    const dom = document.createElement('div')
    dom.className = 'explained'
    dom.textContent = found.text
    return { dom }
  } }
}

function diagnostic(state: EditorState, each: Complaint): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(each.line, 1), state.doc.lines))
  const from = Math.min(line.from + Math.max(each.column - 1, 0), line.to)
  return { from, to: line.to > from ? line.to : from, severity: 'error', message: each.message }
}
