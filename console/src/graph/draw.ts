/** Draws a laid out graph on a canvas: only what is in sight, with the colours of the page. */
import { t } from '../i18n'
import { toneOf, type Tone } from '../parts/ui'
import type { Box, Drawing } from './layout'

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
    complete: read('complete'), running: read('running'), failed: read('failed'), waiting: read('waiting'), deleted: read('waiting'),
    surface: read('surface'), raised: read('raised'), line: read('line'), edge: read('edge'), ink: read('ink'), soft: read('soft'), accent: read('accent'),
  }
}

/** `beat`: 0 to 1, the phase of what is being worked on. `chosen`: the key of the marked box. */
export function draw(context: CanvasRenderingContext2D, size: { width: number; height: number }, drawing: Drawing, view: View, colours: Palette, beat: number, chosen: string | null): void {
  const ratio = devicePixelRatio
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, size.width, size.height)
  context.translate(view.x, view.y)
  context.scale(view.scale, view.scale)
  const sight = { left: -view.x / view.scale, top: -view.y / view.scale, right: (size.width - view.x) / view.scale, bottom: (size.height - view.y) / view.scale }
  level(drawing, 0, 0)

  function level(each: Drawing, left: number, top: number): void {
    context.strokeStyle = colours.line
    context.lineWidth = 1.4
    for (const line of each.lines) {
      const x1 = left + line.from.x + line.from.width / 2
      const y1 = top + line.from.y + line.from.height
      const x2 = left + line.to.x + line.to.width / 2
      const y2 = top + line.to.y
      if (line.points.length < 2 && (Math.max(x1, x2) < sight.left || Math.min(x1, x2) > sight.right) || Math.max(y1, y2) < sight.top || Math.min(y1, y2) > sight.bottom) continue
      context.beginPath()
      context.moveTo(x1, y1)
      // Through the gaps between boxes that the layout found: vertical at each of its points but those between layers.
      const stops = [{ x: x1, y: y1 }, ...line.points.filter((_, place) => place % 2 === 1 || line.points.length > 1).map((each) => ({ x: left + each.x, y: top + each.y })), { x: x2, y: y2 - 5 }]
      for (let place = 1; place < stops.length; place++) {
        const before = stops[place - 1]
        const next = stops[place]
        if (!before || !next) continue
        const bend = (next.y - before.y) / 2
        context.bezierCurveTo(before.x, before.y + bend, next.x, next.y - bend, next.x, next.y)
      }
      context.stroke()
      if (view.scale > 0.45) arrow(x2, y2)
    }
    for (const box of each.boxes) {
      const x = left + box.x
      const y = top + box.y
      if (x > sight.right || x + box.width < sight.left || y > sight.bottom || y + box.height < sight.top) continue
      node(box, x, y)
      if (box.inside) level(box.inside, x + 14, y + 44)
    }
  }

  function arrow(x: number, y: number): void {
    context.fillStyle = colours.line
    context.beginPath()
    context.moveTo(x, y)
    context.lineTo(x - 4, y - 7)
    context.lineTo(x + 4, y - 7)
    context.fill()
  }

  function node(box: Box, x: number, y: number): void {
    const tone = toneOf(box.resource.resource_status)
    const colour = colours[tone]
    if (view.scale < 0.3) {
      // From afar there is room for the state only.
      context.fillStyle = colour
      context.globalAlpha = box.inside ? 0.2 : tone === 'running' ? 0.4 + 0.6 * beat : 0.85
      context.fillRect(x, y, box.width, box.height)
      context.globalAlpha = 1
      return
    }
    context.fillStyle = box.inside ? colours.surface : colours.raised
    context.strokeStyle = box.key === chosen ? colours.accent : tone === 'failed' ? colours.failed : colours.edge
    context.lineWidth = box.key === chosen || tone === 'failed' ? 2 : 1
    context.setLineDash(tone === 'waiting' ? [4, 3] : [])
    shape(x, y, box.width, box.height, 8)
    context.fill()
    context.stroke()
    context.setLineDash([])
    if (tone === 'running') {
      context.globalAlpha = 0.25 + 0.5 * beat
      context.strokeStyle = colour
      context.lineWidth = 3
      shape(x - 2, y - 2, box.width + 4, box.height + 4, 10)
      context.stroke()
      context.globalAlpha = 1
    }
    context.fillStyle = colour
    shape(x, y, 5, Math.min(box.height, box.inside ? box.height : 46), [8, 0, 0, 8])
    context.fill()
    const room = box.width - 26 - (box.nestedId ? 44 : 0)
    context.textBaseline = 'alphabetic'
    context.fillStyle = colours.ink
    context.font = '600 13px system-ui, sans-serif'
    context.fillText(fit(box.resource.resource_name, room), x + 15, y + 20)
    context.fillStyle = colours.soft
    context.font = '11px system-ui, sans-serif'
    context.fillText(fit(box.resource.resource_type, box.width - 26), x + 15, y + 36)
    if (box.nestedId) {
      context.textAlign = 'right'
      context.fillStyle = colours.accent
      context.font = '600 11px system-ui, sans-serif'
      context.fillText(box.inside ? t('graph.open') : t('graph.closed'), x + box.width - 10, y + 20)
      context.textAlign = 'left'
    }
  }

  function shape(x: number, y: number, width: number, height: number, radius: number | number[]): void {
    context.beginPath()
    context.roundRect(x, y, width, height, radius)
  }

  function fit(words: string, room: number): string {
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
}

/** The innermost box at a place of the drawing. */
export function boxAt(drawing: Drawing, x: number, y: number): Box | null {
  for (const box of drawing.boxes) {
    if (x < box.x || y < box.y || x > box.x + box.width || y > box.y + box.height) continue
    return (box.inside && boxAt(box.inside, x - box.x - 14, y - box.y - 44)) ?? box
  }
  return null
}
