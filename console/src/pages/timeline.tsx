/** When each resource was worked on since the last action began: one bar each, the critical path marked. */
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { get, type Shapes, type StackEvent } from '../api/client'
import type { LiveEvent } from '../api/stream'
import { span, t, when } from '../i18n'
import { useEvery, useLoad } from '../parts/load'
import { Empty, Failure, Loading, toneOf, type Tone } from '../parts/ui'
import { useState } from 'preact/hooks'

interface Run {
  name: string
  from: number
  until: number | null
  tone: Tone
}

const MOST = 400

/** The runs since the last action of the stack began, in the order of their beginnings. Events: oldest first. */
export function runsOf(events: StackEvent[], stackName: string): { runs: Run[]; from: number } {
  let begin = 0
  events.forEach((each, place) => {
    if (each.resource_name === stackName && each.resource_status.endsWith('_IN_PROGRESS') && !each.resource_status.startsWith('ROLLBACK')) begin = place
  })
  const runs: Run[] = []
  const open = new Map<string, Run>()
  const from = Date.parse(events[begin]?.event_time ?? '') || Date.now()
  for (const each of events.slice(begin)) {
    const time = Date.parse(each.event_time ?? '')
    if (each.resource_name === stackName) continue
    const running = open.get(each.resource_name)
    if (each.resource_status.endsWith('_IN_PROGRESS')) {
      if (running) running.until = time
      const run: Run = { name: each.resource_name, from: time, until: null, tone: 'running' }
      open.set(each.resource_name, run)
      runs.push(run)
    } else if (running) {
      running.until = time
      running.tone = toneOf(each.resource_status)
      open.delete(each.resource_name)
    }
  }
  return { runs, from }
}

export function Timeline({ path, name, live, running }: { path: string; name: string; live: LiveEvent[]; running: boolean }): JSX.Element {
  const { value, error } = useLoad(() => get<Shapes['EventList']>(`${path}/events?limit=1000&sort_keys=event_time&sort_dir=desc`), [path])
  const why = useLoad(() => get<Shapes['OneExplanation']>(`${path}/explain`), [path, running])
  const [now, setNow] = useState(Date.now)
  useEvery(() => running && setNow(Date.now()), 1000)
  const { runs, from } = useMemo(() => {
    const stackId = path.split('/').at(-1)
    const known = new Set(live.map((each) => each.id))
    const old = (value?.events ?? []).filter((each) => !known.has(each.id)).reverse()
    return runsOf([...old, ...live.filter((each) => each.stack_id === stackId).reverse()], name)
  }, [value, live])
  if (error !== null) return <Failure error={error} />
  if (!value) return <Loading />
  if (!runs.length) return <Empty title={t('timeline.empty')} text={t('timeline.hint')} />
  const until = Math.max(...runs.map((run) => run.until ?? now), from + 1000)
  const critical = new Set((why.value?.explanation.critical_path ?? []).map((each) => each.path[0]))
  const total = until - from
  const ticks = [0, 0.25, 0.5, 0.75, 1]
  return <section class="timeline" aria-label={t('stack.tab.timeline')}>
    <p class="soft">{t('timeline.hint')}</p>
    <div class="time-row axis" aria-hidden="true"><span /><span class="track">{ticks.map((tick) => <span class="tick" key={tick} style={{ left: `${tick * 100}%` }}>{span((total * tick) / 1000)}</span>)}</span></div>
    <ol>{runs.slice(0, MOST).map((run) => {
      const end = run.until ?? now
      const words = `${run.name}: ${when(new Date(run.from).toISOString())}, ${span((end - run.from) / 1000)}`
      return <li class="time-row" key={run.name + run.from} title={words}>
        <span class="time-name">{critical.has(run.name) && <span class="critical" role="img" aria-label={t('timeline.critical')}>◆</span>}{run.name}</span>
        <span class="track"><span class={`run ${run.tone}`} style={{ left: `${((run.from - from) / total) * 100}%`, width: `max(4px, ${((end - run.from) / total) * 100}%)` }} /></span>
        <span class="time-span">{span((end - run.from) / 1000)}</span>
      </li>
    })}</ol>
  </section>
}
