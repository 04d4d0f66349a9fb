/** Paints a graph, and keeps the picture of what is still: choosing and the beat then cost what they change. */
import { aim, drawMoving, drawStill, inSight, palette, type Palette, type View } from './draw'
import type { Drawing } from './layout'

export class Painter {
  private readonly still = document.createElement('canvas')
  private kept: { drawing: Drawing; view: View; colours: Palette; sight: ReturnType<typeof inSight> } | null = null

  /** For other colours: the next painting draws everything. */
  forget(): void {
    this.kept = null
  }

  /** `view` is a value: another one is another object. */
  paint(canvas: HTMLCanvasElement, drawing: Drawing, view: View, chosen: string | null): void {
    const context = canvas.getContext('2d')
    const size = { width: canvas.clientWidth, height: canvas.clientHeight }
    const width = Math.round(size.width * devicePixelRatio)
    const height = Math.round(size.height * devicePixelRatio)
    if (!context || !width || !height) return
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = this.still.width = width
      canvas.height = this.still.height = height
      this.kept = null
    }
    const kept = this.kept?.drawing === drawing && this.kept.view === view ? this.kept : this.draw(canvas, drawing, view, size)
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, width, height)
    context.drawImage(this.still, 0, 0)
    aim(context, view)
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
    drawMoving(context, kept.sight, view, kept.colours, isCalm ? 0.6 : (Math.sin(performance.now() / 400) + 1) / 2, chosen)
  }

  private draw(canvas: HTMLCanvasElement, drawing: Drawing, view: View, size: { width: number; height: number }): NonNullable<Painter['kept']> {
    const colours = this.kept?.colours ?? palette(canvas)
    const sight = inSight(drawing, size, view)
    const context = this.still.getContext('2d')
    if (context) {
      context.setTransform(1, 0, 0, 1, 0, 0)
      context.clearRect(0, 0, this.still.width, this.still.height)
      aim(context, view)
      drawStill(context, sight, view, colours)
    }
    this.kept = { drawing, view, colours, sight }
    return this.kept
  }
}
