/** A table of any length: only the rows in sight are in the page. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

const HEIGHT = 44
const MARGIN = 10

export interface Column<T> {
  id: string
  head: ComponentChildren
  /** A CSS width of the grid: 2fr, 8rem. */
  width: string
  cell: (row: T) => ComponentChildren
}

/** `reached`: called when the last row comes into sight, for those that have more. */
export function Rows<T>({ label, rows, columns, id, height, reached }: {
  label: string; rows: T[]; columns: Column<T>[]; id: (row: T) => string; height?: string; reached?: () => void
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 800 })
  useEffect(() => {
    const box = place.current
    if (!box) return
    // By whole rows: a movement within a row renders nothing.
    const look = (): void => setSight((before) => {
      const now = { top: Math.floor(box.scrollTop / HEIGHT) * HEIGHT, height: box.clientHeight }
      return now.top === before.top && now.height === before.height ? before : now
    })
    const watch = new ResizeObserver(look)
    watch.observe(box)
    box.addEventListener('scroll', look, { passive: true })
    return () => {
      watch.disconnect()
      box.removeEventListener('scroll', look)
    }
  }, [])
  const first = Math.max(0, Math.floor(sight.top / HEIGHT) - MARGIN)
  const last = Math.min(rows.length, Math.ceil((sight.top + sight.height) / HEIGHT) + 1 + MARGIN)
  useEffect(() => {
    if (last === rows.length) reached?.()
  }, [last, rows.length])
  const grid = { gridTemplateColumns: columns.map((column) => column.width).join(' ') }
  return <div class="rows" role="table" aria-label={label} aria-rowcount={rows.length + 1} ref={place} tabIndex={0} style={{ maxHeight: height ?? 'none' }}>
    <div class="row head" role="row" aria-rowindex={1} style={grid}>
      {columns.map((column) => <div role="columnheader" key={column.id}>{column.head}</div>)}
    </div>
    <div role="rowgroup" style={{ height: `${rows.length * HEIGHT}px`, position: 'relative' }}>
      {rows.slice(first, last).map((row, place) => <div class="row" role="row" key={id(row)} aria-rowindex={first + place + 2} style={{ ...grid, position: 'absolute', insetInline: 0, top: `${(first + place) * HEIGHT}px`, height: `${HEIGHT}px` }}>
        {columns.map((column) => <div role="cell" key={column.id}>{column.cell(row)}</div>)}
      </div>)}
    </div>
  </div>
}
