/** The live graph of a stack. Nested stacks are loaded when they are opened. */
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { get, stackOf, stackPath, type Resource, type Shapes } from '../api/client'
import { t } from '../i18n'
import { Button, Empty, State, toneOf, type Tone } from '../parts/ui'
import type { Key } from '../texts/en'
import { Painter } from './painter'
import { boxAt, type View } from './draw'
import { Layout, MOST_MEMBERS, type Box, type Level, type ToneAt } from './layout'

const STEP = 60
const LEGEND: [Tone, Key][] = [['complete', 'graph.complete'], ['running', 'graph.running'], ['failed', 'graph.failed'], ['waiting', 'graph.waiting']]
const byState: ToneAt = (_stackId, resource) => toneOf(resource.resource_status)

function wordsFor(legend: [Tone, Key][], tone: Tone): string {
  const found = legend.find(([each]) => each === tone)
  return found ? t(found[1]) : ''
}

export function nestedOf(resource: Resource): { name: string; id: string } | null {
  const link = resource.links.find((each) => each.rel === 'nested')
  return link ? stackOf(link.href) : null
}

/**
 * `levels`: the loaded stacks, which the page changes as events arrive. `load`: adds one. `toneAt`: the colours, explained
 * by `legend`; as the states are, if it is not given. `version` changes with each of these. `isPart`: of a page that scrolls:
 * the wheel zooms once the graph has the focus.
 */
export function Graph({ rootId, levels, version, load, choose, chosen, toneAt = byState, legend = LEGEND, isPart = false }: {
  rootId: string; levels: Map<string, Level>; version: number; load: (level: Level) => void
  choose: (box: Box | null) => void; chosen: string | null; toneAt?: ToneAt; legend?: [Tone, Key][]; isPart?: boolean
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [opened, setOpened] = useState<Set<string>>(new Set())
  const view = useRef<View>({ x: 24, y: 24, scale: 1 })
  const moved = useRef(false)
  const drag = useRef<{ x: number; y: number; far: boolean } | null>(null)
  const layout = useRef(new Layout((resource) => nestedOf(resource)?.id ?? null))
  const drawing = useMemo(() => layout.current.update(rootId, levels, opened, toneAt), [rootId, levels, opened, version, toneAt])
  const painter = useRef(new Painter())
  const paint = useRef<() => void>(() => undefined)
  const isEmpty = drawing.boxes.length === 0
  const isRunning = useMemo(() => [...levels.values()].some((level) => level.resources.some((each) => each.resource_status.endsWith('IN_PROGRESS'))), [version, levels])

  paint.current = () => {
    if (canvas.current) painter.current.paint(canvas.current, drawing, view.current, chosen)
  }

  const fit = (): void => {
    const element = canvas.current
    if (!element || !drawing.width) return
    const scale = Math.min(1.1, (element.clientWidth - 48) / drawing.width, (element.clientHeight - 48) / drawing.height)
    view.current = { scale, x: (element.clientWidth - drawing.width * scale) / 2, y: Math.max(24, (element.clientHeight - drawing.height * scale) / 2) }
    moved.current = false
    paint.current()
  }
  const fitNow = useRef(fit)
  fitNow.current = fit
  const zoom = (factor: number, x?: number, y?: number): void => {
    const element = canvas.current
    if (!element) return
    const before = view.current
    const scale = Math.min(3, Math.max(0.02, before.scale * factor))
    const left = x ?? element.clientWidth / 2
    const top = y ?? element.clientHeight / 2
    view.current = { scale, x: left - ((left - before.x) * scale) / before.scale, y: top - ((top - before.y) * scale) / before.scale }
    moved.current = true
    paint.current()
  }

  useEffect(() => {
    if (!moved.current) fit()
    else paint.current()
  }, [drawing])
  useLayoutEffect(() => paint.current(), [chosen])
  useEffect(() => {
    const element = canvas.current
    if (!element) return
    const watch = new ResizeObserver(() => (moved.current ? paint.current() : fitNow.current()))
    watch.observe(element)
    const wheel = (event: WheelEvent): void => {
      if (isPart && !event.ctrlKey && document.activeElement !== element) return
      event.preventDefault()
      zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY)
    }
    element.addEventListener('wheel', wheel, { passive: false })
    const recolour = (): void => {
      painter.current.forget()
      paint.current()
    }
    const theme = new MutationObserver(recolour)
    theme.observe(document.documentElement, { attributes: true })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', recolour)
    return () => {
      watch.disconnect()
      theme.disconnect()
      scheme.removeEventListener('change', recolour)
      element.removeEventListener('wheel', wheel)
    }
  }, [isEmpty])
  useEffect(() => {
    if (!isRunning || matchMedia('(prefers-reduced-motion: reduce)').matches) return
    let frame = 0
    let last = 0
    const tick = (now: number): void => {
      if (now - last > 60) {
        last = now
        paint.current()
      }
      frame = requestAnimationFrame(tick)
    }
    frame = requestAnimationFrame(tick)
    return () => cancelAnimationFrame(frame)
  }, [isRunning])

  const toggle = (box: Box): void => {
    const nested = nestedOf(box.resource)
    if (!nested) return
    const next = new Set(opened)
    if (next.has(nested.id)) {
      next.delete(nested.id)
      setOpened(next)
      return
    }
    next.add(nested.id)
    void get<Shapes['ResourceList']>(`${stackPath(nested.name, nested.id)}/resources`).then((found) => {
      load({ stackId: nested.id, resources: found.resources })
      setOpened(next)
    }, () => undefined)
  }

  const at = (event: PointerEvent): Box | null => {
    const { x, y, scale } = view.current
    return boxAt(drawing, (event.offsetX - x) / scale, (event.offsetY - y) / scale)
  }
  const keys = (event: KeyboardEvent): void => {
    const moves: Record<string, [number, number]> = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }
    const move = moves[event.key]
    if (move) {
      view.current = { ...view.current, x: view.current.x + move[0], y: view.current.y + move[1] }
      moved.current = true
      paint.current()
    } else if (event.key === 'n' || event.key === 'p') {
      const place = drawing.boxes.findIndex((box) => box.key === chosen)
      const step = event.key === 'n' ? 1 : -1
      choose(drawing.boxes[(place + step + drawing.boxes.length + (place < 0 && step < 0 ? 1 : 0)) % drawing.boxes.length] ?? null)
    } else if (event.key === 'Enter') {
      const box = drawing.boxes.find((each) => each.key === chosen)
      if (box) toggle(box)
    } else if (event.key === 'Escape') choose(null)
    else if (event.key === '+' || event.key === '=') zoom(1.25)
    else if (event.key === '-') zoom(0.8)
    else if (event.key === '0') fit()
    else return
    event.preventDefault()
  }

  const count = levels.get(rootId)?.resources.length ?? 0
  if (!count) return <Empty title={t('graph.empty')} text="" />
  return <div class="graph">
    <canvas ref={canvas} tabIndex={0} role="img" aria-label={t('graph.label', { count })} onKeyDown={keys}
      onPointerDown={(event) => {
        drag.current = { x: event.clientX, y: event.clientY, far: false }
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) => {
        const before = drag.current
        if (!before) {
          event.currentTarget.classList.toggle('over', at(event) !== null)
          return
        }
        const dx = event.clientX - before.x
        const dy = event.clientY - before.y
        if (!before.far && Math.hypot(dx, dy) < 4) return
        drag.current = { x: event.clientX, y: event.clientY, far: true }
        view.current = { ...view.current, x: view.current.x + dx, y: view.current.y + dy }
        moved.current = true
        paint.current()
      }}
      onPointerUp={(event) => {
        const far = drag.current?.far
        drag.current = null
        if (far) return
        const box = at(event)
        if (box && box.key === chosen && box.nestedId) toggle(box)
        else choose(box)
      }}
      onDblClick={(event) => {
        const { x, y, scale } = view.current
        const box = boxAt(drawing, (event.offsetX - x) / scale, (event.offsetY - y) / scale)
        if (box) toggle(box)
      }} />
    <div class="graph-tools">
      <Button onClick={() => zoom(1.25)} aria-label={t('graph.in')}>+</Button>
      <Button onClick={() => zoom(0.8)} aria-label={t('graph.out')}>−</Button>
      <Button onClick={fit}>{t('graph.fit')}</Button>
      {opened.size > 0 && <Button onClick={() => setOpened(new Set())}>{t('graph.fold')}</Button>}
    </div>
    <ul class="legend" aria-label={t('graph.legend')}>
      {legend.map(([tone, words]) => <li key={tone}><span class={`dot ${tone}`} aria-hidden="true" />{t(words)}</li>)}
    </ul>
    {count > MOST_MEMBERS && <p class="graph-note">{t('graph.toomany', { count: MOST_MEMBERS })}</p>}
    <ul class="sr-only">
      {(levels.get(rootId)?.resources ?? []).slice(0, 200).map((each) => <li key={each.resource_name}>{each.resource_name} {toneAt === byState ? <State status={each.resource_status} /> : wordsFor(legend, toneAt(rootId, each))}</li>)}
    </ul>
  </div>
}
