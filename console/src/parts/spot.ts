/** Where in a YAML document a place of the text is: pure, by indentation and by the brackets of its own line. */

/** The path of an entry of a list has this for it. */
export const ENTRY = '*'

/** The keys above a place. `at`: whether a key or a value is written there. */
export interface Spot {
  path: string[]
  at: 'key' | 'value'
  /** Within brackets of this line: `{`, `[`; else empty. */
  inside: '{' | '[' | ''
  /** Of a list in brackets: what is written before the place in it. */
  items: string[]
  /** The number of the line of each key of the path. */
  lines: number[]
}

const MOST_LINES = 20_000
const LEAD = /^\s*(?:-\s+)*/
const KEY = /^\s*(?:-\s+)*(?:"([^"]*)"|'([^']*)'|([^\s"'{[#&*!|>%@-][^#]*?))\s*:(?=\s|$)/

interface Frame {
  kind: '{' | '['
  key: string | null
  items: string[]
}

/** The name of the key that a line begins with, and what comes after its colon. */
export function keyOf(line: string): { name: string; column: number; rest: string } | null {
  const found = KEY.exec(line)
  if (!found) return null
  return { name: found[1] ?? found[2] ?? found[3] ?? '', column: (LEAD.exec(line)?.[0] ?? '').length, rest: line.slice(found[0].length) }
}

/** `lineAt`: the lines, numbered from 1. `before`: what the line `number` has before the place. Null: within a plain text. */
export function spotAt(lineAt: (number: number) => string, number: number, before: string): Spot | null {
  const own = keyOf(before)
  const lead = LEAD.exec(before)?.[0] ?? ''
  const rest = own ? own.rest.trimStart() : before.slice(lead.length)
  if (rest && !/^["']?$/.test(rest) && !/^["']?[{[]/.test(rest)) return null
  const above = parents(lineAt, number, lead)
  if (!above) return null
  const frames = framesOf(rest)
  const inner = frames.flatMap((each) => (each.kind === '[' ? [ENTRY] : each.key === null ? [] : [each.key]))
  const names = [...(own ? [own.name] : []), ...inner]
  const last = frames.at(-1)
  return {
    path: [...above.path, ...names], lines: [...above.lines, ...names.map(() => number)],
    at: last ? (last.kind === '{' && last.key === null ? 'key' : 'value') : own ? 'value' : 'key',
    inside: last?.kind ?? '', items: last?.kind === '[' ? last.items : [],
  }
}

function parents(lineAt: (number: number) => string, number: number, lead: string): { path: string[]; lines: number[] } | null {
  const path: string[] = []
  const lines: number[] = []
  let column = lead.length
  let isEntry = false
  const enter = (dash: number, line: number): void => {
    path.unshift(ENTRY)
    lines.unshift(line)
    column = dash
    isEntry = true
  }
  if (lead.includes('-')) enter(lead.indexOf('-'), number)
  for (let line = number - 1; line >= 1 && (column > 0 || isEntry); line--) {
    if (number - line > MOST_LINES) return null
    const text = lineAt(line)
    if (!text.trim() || text.trimStart().startsWith('#')) continue
    const before = LEAD.exec(text)?.[0] ?? ''
    const dash = before.indexOf('-')
    const key = keyOf(text)
    if (before.length < column || (isEntry && dash < 0 && before.length === column)) {
      column = before.length
      isEntry = false
      if (key) {
        path.unshift(key.name)
        lines.unshift(line)
      }
      if (dash >= 0) enter(dash, line)
    } else if (dash >= 0 && dash < column) enter(dash, line)                // the first key of the same entry
  }
  return { path, lines }
}

function framesOf(text: string): Frame[] {
  const frames: Frame[] = []
  let token = ''
  let quote = ''
  for (let place = 0; place < text.length; place++) {
    const sign = text.charAt(place)
    const top = frames.at(-1)
    if (quote) {
      if (sign === quote) quote = ''
      else token += sign
    } else if (sign === '"' || sign === "'") quote = sign
    else if (sign === '{' || sign === '[') {
      frames.push({ kind: sign, key: null, items: [] })
      token = ''
    } else if (sign === '}' || sign === ']') {
      frames.pop()
      token = ''
    } else if (sign === ',' && top) {
      if (top.kind === '[') top.items.push(token.trim())
      else top.key = null
      token = ''
    } else if (sign === ':' && top?.kind === '{' && top.key === null && /^\s|^$/.test(text.slice(place + 1))) {
      top.key = token.trim()
      token = ''
    } else token += sign
  }
  return frames
}
