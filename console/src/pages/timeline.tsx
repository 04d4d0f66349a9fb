/** When each resource was worked on in the last action: one bar each beside the time before, the critical path marked. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { get, type Shapes } from '../api/client'
import { span, t, when } from '../i18n'
import { useCalm, useEvery, useLoad } from '../parts/load'
import { Command, Empty, Failure, Loading, quoted, toneOf } from '../parts/ui'
import type { Key } from '../texts/en'

type Run = Shapes['OneTimeline']['timeline']['runs'][number]
type Pace = 'slower' | 'faster' | 'same'

/** Times that differ less are the same: a tenth, and half a second, since services are asked at intervals. */
const PART = 0.1
const LEAST = 0.5

export function paceOf(seconds: number, before: number): Pace {
  const more = seconds - before
  if (Math.abs(more) <= Math.max(before * PART, LEAST)) return 'same'
  return more > 0 ? 'slower' : 'faster'
}

/** `version`: the id of the newest event. */
export function Timeline({ path, name, version, running }: { path: string; name: string; version: string; running: boolean }): JSX.Element {
  const { value, error, again } = useLoad(async () => ({ ...(await get<Shapes['OneTimeline']>(`${path}/timeline`)).timeline, loaded: Date.now() }), [path])
  const why = useLoad(() => get<Shapes['OneExplanation']>(`${path}/explain`), [path, running])
  const [now, setNow] = useState(Date.now)
  const calm = useCalm(again, 1000)
  useEffect(() => {
    if (version) calm()
  }, [version])
  useEvery(() => running && setNow(Date.now()), 1000)
  const critical = useMemo(() => new Set((why.value?.explanation.critical_path ?? []).map((each) => each.path[0])), [why.value])
  if (error !== null) return <Failure error={error} retry={again} />
  if (!value) return <Loading />
  if (!value.runs.length) return <Empty title={t('timeline.empty')} text={t('timeline.hint')} />
  const waited = running ? Math.max(now - value.loaded, 0) / 1000 : 0
  const secondsOf = (run: Run): number => run.seconds + (run.status === 'IN_PROGRESS' ? waited : 0)
  const total = Math.max(...value.runs.map((run) => run.after + Math.max(secondsOf(run), run.seconds_before ?? 0)), 1)
  return <section class="timeline" aria-label={t('stack.tab.timeline')}>
    <p class="soft">{t('timeline.hint')}</p>
    <p><strong>{value.action.toLowerCase()}</strong> {span(value.seconds + waited)} <Before seconds={value.seconds + waited} before={value.seconds_before} running={running} /></p>
    <div class="time-row axis" aria-hidden="true"><span /><span class="track">{[0, 0.25, 0.5, 0.75, 1].map((tick) => <span class="tick" key={tick} style={{ left: `${tick * 100}%` }}>{span(total * tick)}</span>)}</span></div>
    <ol>{value.runs.map((run) => <Bar key={`${run.path.join('/')} ${run.action} ${run.since}`} run={run} seconds={secondsOf(run)} total={total} critical={critical.has(run.path[0] ?? '')} />)}</ol>
    {value.left_off > 0 && <p class="soft">{t('timeline.left', { count: value.left_off })}</p>}
    <Command text={`openstack stack explain ${quoted(name)}`} />
  </section>
}

function Bar({ run, seconds, total, critical }: { run: Run; seconds: number; total: number; critical: boolean }): JSX.Element {
  const name = run.path.join('/')
  const place = (length: number): { left: string; width: string } => ({ left: `${(run.after / total) * 100}%`, width: `max(4px, ${(length / total) * 100}%)` })
  return <li class="time-row" title={`${name}: ${run.action.toLowerCase()} ${when(run.since)}, ${span(seconds)}`}>
    <span class="time-name">{critical && <span class="critical" role="img" aria-label={t('timeline.critical')}>◆</span>}{name}</span>
    <span class="track">
      <span class={`run ${toneOf(`${run.action}_${run.status}`)}`} style={place(seconds)} />
      {run.seconds_before !== null && <span class="run-before" style={place(run.seconds_before)} />}
    </span>
    <span class="time-span">{span(seconds)} <Before seconds={seconds} before={run.seconds_before} running={run.status === 'IN_PROGRESS'} /></span>
  </li>
}

/** What the same took the time before, and whether this time is slower or faster: in words, and by a mark. */
function Before({ seconds, before, running }: { seconds: number; before: number | null; running: boolean }): JSX.Element | null {
  if (before === null) return null
  const found = paceOf(seconds, before)
  const pace = running && found === 'faster' ? 'same' : found              // it may still become slower
  return <span class={`before ${pace}`}><span aria-hidden="true">{{ slower: '▲ ', faster: '▼ ', same: '' }[pace]}</span>{t(`timeline.${pace}` as Key, { time: span(before) })}</span>
}
