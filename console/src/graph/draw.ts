/**
 * Draws a laid out graph on a canvas: only what is in sight, with the colours of the page. What is still is drawn apart
 * from what moves, so that it can be kept.
 */
import { t } from '../i18n'
import type { Tone } from '../parts/ui'
import type { Box, Drawing, Line } from './layout'

export interface View {
  x: number
  y: number
  scale: number
}

export type Palette = Record<Tone | 'surface' | 'raised' | 'line' | 'edge' | 'ink' | 'soft' | 'accent', string>

export function palette(element: Element): Palette {
  const style = getComputedStyle(element)
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  return {
    complete: read('complete'), running: read('running'), failed: read('failed'), waiting: read('waiting'), deleted: read('waiting'), undone: read('undone'), other: read('edge'),
    surface: read('surface'), raised: read('raised'), line: read('line'), edge: read('edge'), ink: read('ink'), soft: read('soft'), accent: read('accent'),
  }
}

/** Below this scale there is room for the states only. */
const FAR = 0.3
const NAME = '600 13px system-ui, sans-serif'
const TYPE = '11px system-ui, sans-serif'
const FOLD = '600 11px system-ui, sans-serif'

interface Place {
  box: Box
  x: number
  y: number
}

/** The boxes and the lines of a drawing that are in sight, outer ones first. */
interface Sight {
  places: Place[]
  lines: { line: Line; left: number; top: number }[]
}

export interface Size {
  width: number
  height: number
}

export function inSight(drawing: Drawing, size: Size, view: View): Sight {
  const left = -view.x / view.scale
  const top = -view.y / view.scale
  const right = (size.width - view.x) / view.scale
  const bottom = (size.height - view.y) / view.scale
  const found: Sight = { places: [], lines: [] }
  const look = (each: Drawing, x: number, y: number): void => {
    for (const line of each.lines) {
      const first = x + line.from.x
      const last = x + line.to.x
      if (line.points.length < 2 && (Math.max(first, last) + line.from.width < left || Math.min(first, last) > right)) continue
      if (y + Math.max(line.from.y + line.from.height, line.to.y) < top || y + Math.min(line.from.y + line.from.height, line.to.y) > bottom) continue
      found.lines.push({ line, left: x, top: y })
    }
    for (const box of each.boxes) {
      const at = { box, x: x + box.x, y: y + box.y }
      if (at.x > right || at.x + box.width < left || at.y > bottom || at.y + box.height < top) continue
      found.places.push(at)
      if (box.inside) look(box.inside, at.x + 14, at.y + 44)
    }
  }
  look(drawing, 0, 0)
  return found
}

/** Has the context draw in the drawing's own units. */
export function aim(context: CanvasRenderingContext2D, view: View): void {
  const ratio = devicePixelRatio
  context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y)
}

/** Everything but what changes while nothing moves: the mark of the chosen box, and the beat. */
export function drawStill(context: CanvasRenderingContext2D, sight: Sight, view: View, colours: Palette): void {
  drawLines(context, sight, view, colours)
  if (view.scale < FAR) drawStates(context, sight, colours)
  else for (const place of sight.places) drawBox(context, place, colours)
}

/** `beat`: 0 to 1, the phase of what is being worked on. `chosen`: the key of the marked box. */
export function drawMoving(context: CanvasRenderingContext2D, sight: Sight, view: View, colours: Palette, beat: number, chosen: string | null): void {
  for (const { box, x, y } of sight.places) {
    const isRunning = box.tone === 'running'
    if (isRunning && !box.inside && view.scale < FAR) {
      context.globalAlpha = 0.4 + 0.6 * beat
      context.fillStyle = colours.running
      context.fillRect(x, y, box.width, box.height)
    } else if (isRunning && view.scale >= FAR) {
      context.globalAlpha = 0.25 + 0.5 * beat
      context.strokeStyle = colours.running
      context.lineWidth = 3
      shape(context, x - 2, y - 2, box.width + 4, box.height + 4, 10)
      context.stroke()
    }
    context.globalAlpha = 1
    if (box.key !== chosen) continue
    context.strokeStyle = colours.accent
    context.lineWidth = Math.max(2, 2 / view.scale)
    shape(context, x, y, box.width, box.height, 8)
    context.stroke()
  }
}

function drawLines(context: CanvasRenderingContext2D, sight: Sight, view: View, colours: Palette): void {
  const isFar = view.scale < FAR
  context.strokeStyle = colours.line
  context.lineWidth = 1.4
  // One path for all: a stroke for each costs many times as much.
  context.beginPath()
  for (const { line, left, top } of sight.lines) {
    const x1 = left + line.from.x + line.from.width / 2
    const y1 = top + line.from.y + line.from.height
    const x2 = left + line.to.x + line.to.width / 2
    const y2 = top + line.to.y
    context.moveTo(x1, y1)
    if (isFar && line.points.length === 0) {
      context.lineTo(x2, y2)
      continue
    }
    // Through the gaps between boxes that the layout found: vertical at each of its points but those between layers.
    const stops = [{ x: x1, y: y1 }, ...line.points.filter((_, place) => place % 2 === 1 || line.points.length > 1).map((each) => ({ x: left + each.x, y: top + each.y })), { x: x2, y: y2 - 5 }]
    for (let place = 1; place < stops.length; place++) {
      const before = stops[place - 1]
      const next = stops[place]
      if (!before || !next) continue
      const bend = (next.y - before.y) / 2
      context.bezierCurveTo(before.x, before.y + bend, next.x, next.y - bend, next.x, next.y)
    }
  }
  context.stroke()
  if (view.scale <= 0.45) return
  context.fillStyle = colours.line
  context.beginPath()
  for (const { line, left, top } of sight.lines) {
    const x = left + line.to.x + line.to.width / 2
    const y = top + line.to.y
    context.moveTo(x, y)
    context.lineTo(x - 4, y - 7)
    context.lineTo(x + 4, y - 7)
  }
  context.fill()
}

function drawStates(context: CanvasRenderingContext2D, sight: Sight, colours: Palette): void {
  for (const { box, x, y } of sight.places) {
    const { tone } = box
    if (tone === 'running' && !box.inside) continue
    context.fillStyle = colours[tone]
    context.globalAlpha = box.inside ? 0.2 : 0.85
    context.fillRect(x, y, box.width, box.height)
  }
  context.globalAlpha = 1
}

function drawBox(context: CanvasRenderingContext2D, { box, x, y }: Place, colours: Palette): void {
  const { tone } = box
  context.fillStyle = box.inside ? colours.surface : colours.raised
  context.strokeStyle = tone === 'failed' ? colours.failed : colours.edge
  context.lineWidth = tone === 'failed' ? 2 : 1
  context.setLineDash(tone === 'waiting' ? [4, 3] : [])
  shape(context, x, y, box.width, box.height, 8)
  context.fill()
  context.stroke()
  context.setLineDash([])
  context.fillStyle = colours[tone]
  shape(context, x, y, 5, Math.min(box.height, box.inside ? box.height : 46), [8, 0, 0, 8])
  context.fill()
  context.textBaseline = 'alphabetic'
  context.fillStyle = colours.ink
  context.font = NAME
  context.fillText(fit(context, NAME, box.resource.resource_name, box.width - 26 - (box.nestedId ? 44 : 0)), x + 15, y + 20)
  context.fillStyle = colours.soft
  context.font = TYPE
  context.fillText(fit(context, TYPE, box.resource.resource_type, box.width - 26), x + 15, y + 36)
  if (!box.nestedId) return
  context.textAlign = 'right'
  context.fillStyle = colours.accent
  context.font = FOLD
  context.fillText(box.inside ? t('graph.open') : t('graph.closed'), x + box.width - 10, y + 20)
  context.textAlign = 'left'
}

function shape(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, radius: number | number[]): void {
  context.beginPath()
  context.roundRect(x, y, width, height, radius)
}

const MOST_FITS = 20_000
const fits = new Map<string, string>()

/** The words, cut to the room: measured once for each. The context has this font. */
function fit(context: CanvasRenderingContext2D, font: string, words: string, room: number): string {
  const key = `${font} ${room} ${words}`
  const known = fits.get(key)
  if (known !== undefined) return known
  if (fits.size >= MOST_FITS) fits.clear()
  const found = cut(context, words, room)
  fits.set(key, found)
  return found
}

function cut(context: CanvasRenderingContext2D, words: string, room: number): string {
  if (context.measureText(words).width <= room) return words
  let low = 0
  let high = words.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (context.measureText(`${words.slice(0, middle)}…`).width <= room) low = middle
    else high = middle - 1
  }
  return `${words.slice(0, low)}…`
}

/** The innermost box at a place of the drawing. */
export function boxAt(drawing: Drawing, x: number, y: number): Box | null {
  for (const box of drawing.boxes) {
    if (x < box.x || y < box.y || x > box.x + box.width || y > box.y + box.height) continue
    return (box.inside && boxAt(box.inside, x - box.x - 14, y - box.y - 44)) ?? box
  }
  return null
}
