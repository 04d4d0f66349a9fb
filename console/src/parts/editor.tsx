/** The editor of templates. In a shadow root: its styles are then objects, which the content policy allows. */
import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, defaultHighlightStyle, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Text } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface Complaint {
  line: number
  column: number
  message: string
}

const FUNCTIONS = ['get_param', 'get_resource', 'get_attr', 'str_replace', 'list_join', 'get_file', 'repeat', 'if', 'str_split', 'map_merge', 'yaql', 'digest', 'equals', 'not', 'and', 'or']
const SECTIONS = ['heat_template_version: 2021-04-16', 'description: ', 'parameters:', 'resources:', 'outputs:', 'conditions:']

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', color: 'var(--ink)', backgroundColor: 'var(--raised)' },
  '.cm-content': { fontFamily: 'ui-monospace, monospace', caretColor: 'var(--accent)', padding: '8px 0' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent) !important' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--edge)', borderRadius: '6px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
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
export function Editor({ value, change, complaints, types, label, readOnly = false }: {
  value: string; change: (text: Source) => void; complaints: Complaint[]; types: string[]; label: string; readOnly?: boolean
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const latest = useRef({ change, types })
  latest.current = { change, types }
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
          autocompletion({ override: [(context) => complete(context, latest.current.types)] }),
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

function diagnostic(state: EditorState, each: Complaint): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(each.line, 1), state.doc.lines))
  const from = Math.min(line.from + Math.max(each.column - 1, 0), line.to)
  return { from, to: line.to > from ? line.to : from, severity: 'error', message: each.message }
}

/** Types after `type:`, functions within braces, names of parameters and resources after functions. */
function complete(context: CompletionContext, types: string[]): CompletionResult | null {
  const word = context.matchBefore(/[\w:]*/)
  if (!word || (word.from === word.to && !context.explicit)) return null
  const before = context.state.doc.lineAt(context.pos).text.slice(0, word.from - context.state.doc.lineAt(context.pos).from)
  const whole = context.state.doc.toString()
  const options = (labels: string[], type: string): CompletionResult => ({ from: word.from, options: labels.map((label) => ({ label, type })), validFor: /^[\w:]*$/ })
  if (/type:\s*"?$/.test(before)) return options(types, 'class')
  if (/get_param:\s*$/.test(before)) return options(names(whole, 'parameters'), 'variable')
  if (/(get_resource|depends_on):\s*$/.test(before) || /get_attr:\s*\[\s*$/.test(before)) return options(names(whole, 'resources'), 'variable')
  if (/\{\s*$/.test(before)) return options(FUNCTIONS, 'function')
  return before === '' ? options(SECTIONS, 'keyword') : null
}

/** The keys of a section, by its indentation. */
function names(whole: string, section: string): string[] {
  const body = new RegExp(`^${section}:[^\\n]*\\n((?:[ \\t]+.*\\n?|\\s*\\n)*)`, 'm').exec(whole)?.[1] ?? ''
  const first = /^([ \t]+)\S/m.exec(body)?.[1]
  return first === undefined ? [] : [...body.matchAll(new RegExp(`^${first}([\\w.-]+)\\s*:`, 'gm'))].map((found) => found[1] ?? '')
}
