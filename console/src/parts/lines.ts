/** The lines of a text that belong to one thing: pure. Lines are numbered from 0. */

export interface Lines {
  first: number
  /** One after the last. */
  end: number
}

const indentOf = (line: string): number => line.length - line.trimStart().length

/** The block that begins at a line: up to the next one that is indented no deeper. */
export function blockAt(lines: string[], first: number): Lines {
  const depth = indentOf(lines[first] ?? '')
  let end = first + 1
  for (let place = first + 1; place < lines.length; place++) {
    const line = lines[place] ?? ''
    if (!line.trim()) continue
    if (indentOf(line) <= depth) break
    end = place + 1
  }
  return { first, end }
}

/**
 * The block of the value at `trail`, names of keys, in a text that js-yaml has written of `document`, with the keys of
 * each mapping in the order of `sorted`; null if there is none.
 */
export function linesAt(lines: string[], document: unknown, trail: string[], sorted: (keys: string[]) => string[]): Lines | null {
  let found: Lines = { first: -1, end: lines.length }
  let value = document
  for (const [depth, name] of trail.entries()) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const place = sorted(Object.keys(value)).indexOf(name)
    if (place < 0) return null
    let first = found.first
    // By position, not by the name, which may be quoted in ways of its own: each key is one line of this depth.
    for (let left = place; left >= 0; left--) {
      first++
      while (first < found.end && !isKey(lines[first] ?? '', depth)) first++
    }
    if (first >= found.end) return null
    found = blockAt(lines, first)
    value = (value as Record<string, unknown>)[name]
  }
  return trail.length ? found : null
}

/** Whether the line begins a key of a mapping at this depth; `: ` continues a long key, which `? ` has begun. */
function isKey(line: string, depth: number): boolean {
  return line.trim() !== '' && indentOf(line) === 2 * depth && !line.startsWith(': ', 2 * depth)
}
