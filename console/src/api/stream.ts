/** One stream of events, read with fetch (an EventSource cannot send a token), resumed where it was. */
import { expire, session } from '../session'
import { base, headers, type StackEvent } from './client'

export interface LiveEvent extends StackEvent {
  stack_id: string
  stack_name: string
  root_stack_id: string
  resource_type: string
}

const KNOWN = 2000

/** Milliseconds in which events are collected: a page is rendered once for all of them. */
const COLLECT = 40

/** Listens until the returned function is called. `received`: each event once, oldest first; `live`: whether the stream is there. */
export function listen(path: string, received: (events: LiveEvent[]) => void, live: (isLive: boolean) => void): () => void {
  const end = new AbortController()
  const known = new Set<string>()
  let position = ''
  let pause = 1000
  let collected: LiveEvent[] = []

  async function read(): Promise<void> {
    const token = session()?.token ?? null
    const answer = await fetch(base() + path, {
      headers: { Accept: 'text/event-stream', ...headers(), ...(position ? { 'Last-Event-ID': position } : {}) },
      signal: end.signal, cache: 'no-store',
    })
    if (answer.status === 401) expire(token)
    if (!answer.ok || !answer.body) throw new Error(String(answer.status))
    live(true)
    pause = 1000
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += value
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      blocks.forEach(take)
    }
  }

  function take(block: string): void {
    let data = ''
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) position = line.slice(4)
      else if (line.startsWith('data: ')) data = line.slice(6)
    }
    if (!data) return
    const event = JSON.parse(data) as LiveEvent
    if (known.has(event.id)) return
    known.add(event.id)
    if (known.size > KNOWN) known.delete(known.values().next().value as string)
    collected.push(event)
    if (collected.length === 1) setTimeout(hand, COLLECT)
  }

  function hand(): void {
    const events = collected
    collected = []
    if (!end.signal.aborted) received(events)
  }

  async function go(): Promise<void> {
    while (!end.signal.aborted) {
      try {
        await read()
      } catch {
        pause = Math.min(pause * 2, 15000)
      }
      if (end.signal.aborted) return
      live(false)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }

  void go()
  return () => end.abort()
}
