/** Where the resources of a stack and of its opened nested stacks are drawn: pure, from names and needs to boxes. */
import dagre from '@dagrejs/dagre'
import type { Resource } from '../api/client'
import type { Tone } from '../parts/ui'

export const NODE = { width: 190, height: 46 }
const GAP = { x: 22, y: 34 }
const PAD = 14
const HEAD = 44
/** Beyond, layers are laid out by their order alone. */
const MOST_FOR_DAGRE = 250
export const MOST_MEMBERS = 2000

export interface Level {
  stackId: string
  resources: Resource[]
}

export interface Box {
  key: string
  stackId: string
  resource: Resource
  tone: Tone
  x: number
  y: number
  width: number
  height: number
  /** Of an opened nested stack: the boxes inside, relative to this one. */
  inside: Drawing | null
  /** The nested stack, opened or not. */
  nestedId: string | null
  hidden: number
}

/** `points`: where the line passes between other boxes; empty: straight. */
export interface Line {
  from: Box
  to: Box
  points: { x: number; y: number }[]
}

export interface Drawing {
  boxes: Box[]
  lines: Line[]
  width: number
  height: number
}

export type ToneAt = (stackId: string, resource: Resource) => Tone

/** Draws again what has other states, and lays out again only what has other resources or other needs. */
export class Layout {
  private drawing: Drawing | null = null
  private of = new Map<string, Resource[]>()
  private opened: Set<string> | null = null

  constructor(private readonly nested: (resource: Resource) => string | null) {}

  /**
   * `levels`: the loaded stacks by id. `opened`: ids of nested stacks to draw. `toneAt`: the colour of a resource of a
   * stack. The answer is another object each time.
   */
  update(rootId: string, levels: Map<string, Level>, opened: Set<string>, toneAt: ToneAt): Drawing {
    const isSame = this.drawing !== null && this.opened === opened && this.of.size === levels.size
      && [...levels].every(([id, level]) => this.hasShape(this.of.get(id), level.resources))
    this.drawing = isSame && this.drawing ? { ...this.drawing } : layOut(rootId, levels, opened, this.nested)
    restate(this.drawing, levels, toneAt)
    this.of = new Map([...levels].map(([id, level]) => [id, level.resources]))
    this.opened = opened
    return this.drawing
  }

  private hasShape(before: Resource[] | undefined, now: Resource[]): boolean {
    return before === now || before?.length === now.length && now.every((each, place) => {
      const old = before[place]
      return old === each || old !== undefined && old.resource_name === each.resource_name && this.nested(old) === this.nested(each)
        && old.required_by.length === each.required_by.length && old.required_by.every((name, at) => name === each.required_by[at])
    })
  }
}

/** Gives each box its resource and colour as they are now; the boxes are in the order of the resources. */
function restate(drawing: Drawing, levels: Map<string, Level>, toneAt: ToneAt): void {
  drawing.boxes.forEach((box, place) => {
    box.resource = levels.get(box.stackId)?.resources[place] ?? box.resource
    box.tone = toneAt(box.stackId, box.resource)
    if (box.inside) restate(box.inside, levels, toneAt)
  })
}

/** `levels`: the loaded stacks by id. `opened`: ids of nested stacks to draw. `nested`: the nested stack of a resource. */
function layOut(rootId: string, levels: Map<string, Level>, opened: Set<string>, nested: (resource: Resource) => string | null): Drawing {
  const level = levels.get(rootId)
  if (!level) return { boxes: [], lines: [], width: 0, height: 0 }
  const shown = level.resources.slice(0, MOST_MEMBERS)
  const boxes = shown.map((resource): Box => {
    const nestedId = nested(resource)
    const inside = nestedId && opened.has(nestedId) && levels.has(nestedId) ? layOut(nestedId, levels, opened, nested) : null
    return {
      key: `${rootId}/${resource.resource_name}`, stackId: rootId, resource, tone: 'other', x: 0, y: 0, nestedId, inside,
      width: inside ? Math.max(NODE.width, inside.width + 2 * PAD) : NODE.width,
      height: inside ? HEAD + inside.height + PAD : NODE.height,
      hidden: inside && nestedId ? Math.max(0, (levels.get(nestedId)?.resources.length ?? 0) - MOST_MEMBERS) : 0,
    }
  })
  const byName = new Map(boxes.map((box) => [box.resource.resource_name, box]))
  const lines: Line[] = []
  for (const box of boxes) {
    for (const name of box.resource.required_by) {
      const other = byName.get(name)
      if (other) lines.push({ from: box, to: other, points: [] })
    }
  }
  const linked = new Set(lines.flatMap((line) => [line.from, line.to]))
  const chained = boxes.filter((box) => linked.has(box))
  const single = boxes.filter((box) => !linked.has(box))
  const graph = chained.length <= MOST_FOR_DAGRE ? byDagre(chained, lines) : byLayers(chained, lines)
  const below = inGrid(single, graph.height ? graph.height + GAP.y : 0, Math.max(graph.width, NODE.width * 4))
  return { boxes, lines, width: Math.max(graph.width, below.width), height: Math.max(graph.height, below.height) }
}

interface Size {
  width: number
  height: number
}

function byDagre(boxes: Box[], lines: Line[]): Size {
  if (!boxes.length) return { width: 0, height: 0 }
  const graph = new dagre.graphlib.Graph()
  graph.setGraph({ rankdir: 'TB', nodesep: GAP.x, ranksep: GAP.y })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const box of boxes) graph.setNode(box.key, { width: box.width, height: box.height })
  for (const line of lines) graph.setEdge(line.from.key, line.to.key)
  dagre.layout(graph)
  for (const line of lines) {
    const edge = graph.edge(line.from.key, line.to.key) as { points?: { x: number; y: number }[] } | undefined
    line.points = edge?.points?.slice(1, -1) ?? []
  }
  let width = 0
  let height = 0
  for (const box of boxes) {
    const at = graph.node(box.key) as { x: number; y: number }
    box.x = at.x - box.width / 2
    box.y = at.y - box.height / 2
    width = Math.max(width, box.x + box.width)
    height = Math.max(height, box.y + box.height)
  }
  return { width, height }
}

/** Each box in the layer after the last one that it needs; long layers in several rows. */
function byLayers(boxes: Box[], lines: Line[]): Size {
  const layer = new Map<Box, number>(boxes.map((box) => [box, 0]))
  const waits = new Map<Box, number>(boxes.map((box) => [box, 0]))
  const next = new Map<Box, Box[]>()
  for (const line of lines) {
    waits.set(line.to, (waits.get(line.to) ?? 0) + 1)
    const after = next.get(line.from)
    if (after) after.push(line.to)
    else next.set(line.from, [line.to])
  }
  const ready = boxes.filter((box) => !waits.get(box))
  for (let box = ready.pop(); box; box = ready.pop()) {
    for (const other of next.get(box) ?? []) {
      layer.set(other, Math.max(layer.get(other) ?? 0, (layer.get(box) ?? 0) + 1))
      const left = (waits.get(other) ?? 1) - 1
      waits.set(other, left)
      if (!left) ready.push(other)
    }
  }
  const columns = Math.ceil(Math.sqrt(boxes.length))
  let height = 0
  let width = 0
  const rows: Box[][] = []
  for (const [box, number] of layer) (rows[number] ??= []).push(box)
  for (const row of rows) {
    const size = inGrid(row ?? [], height, columns * (NODE.width + GAP.x))
    height = size.height + GAP.y
    width = Math.max(width, size.width)
  }
  return { width, height: height - GAP.y }
}

function inGrid(boxes: Box[], top: number, wide: number): Size {
  const most = Math.max(wide, Math.ceil(Math.sqrt(boxes.length)) * (NODE.width + GAP.x))
  let x = 0
  let y = top
  let row = 0
  let width = 0
  for (const box of boxes) {
    if (x > 0 && x + box.width > most) {
      x = 0
      y += row + GAP.x
      row = 0
    }
    box.x = x
    box.y = y
    x += box.width + GAP.x
    row = Math.max(row, box.height)
    width = Math.max(width, box.x + box.width)
  }
  return { width, height: boxes.length ? y + row : 0 }
}
