/** Why a stack failed or waits: the causes first, with the service's words, what to do, and where it is written. */
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { get, type Explanation, type Shapes } from '../api/client'
import type { Level } from '../graph/layout'
import { ago, span, t, when } from '../i18n'
import { useCalm, useLoad } from '../parts/load'
import { Command, Empty, Facts, Failure, Loading, quoted } from '../parts/ui'
import { to } from '../router'
import { Blame } from './blame'
import { writtenAt } from './template'

/** `graph`: what a graph of the failed stack is made from. */
export function Failed({ path, name, id, version, graph }: {
  path: string; name: string; id: string; version: string; graph: { levels: Map<string, Level>; version: number; load: (level: Level) => void; pathOf: (stackId: string, name: string) => string[] }
}): JSX.Element {
  const { value, error, again } = useLoad(() => get<Shapes['OneExplanation']>(`${path}/explain`), [path])
  const calm = useCalm(again, 1000)
  useEffect(() => {
    if (version) calm()
  }, [version])
  if (error !== null) return <Failure error={error} retry={again} />
  if (!value) return <Loading />
  const found = value.explanation
  return <div class="explain">
    {found.state === 'settled' && <Empty title={t('failure.settled.title')} text={t('failure.settled.text')} />}
    {found.state !== 'settled' && <p class={`big ${found.state === 'failed' ? 'failed-text' : ''}`}>{found.summary}</p>}
    {found.gives_up_at && <p class="soft">{t('failure.gives.up', { time: when(found.gives_up_at) })}</p>}
    {found.causes.length > 0 && <section>
      <h2>{t('failure.causes')}</h2>
      {found.causes.map((each) => <Cause key={each.path.join('/') + each.time} cause={each} written={writtenAt(name, id, each.path)} />)}
    </section>}
    {found.state === 'failed' && <Blame path={path} name={name} id={id} found={found} {...graph} />}
    {found.not_started.length > 0 && <section class="card"><h2>{t('failure.notstarted')}</h2><p>{found.not_started.map((each) => <span class="tag waiting" key={each.join('/')}>{each.join(' / ')}</span>)}</p></section>}
    {found.waiting_for.length > 0 && <section class="card"><h2>{t('failure.waiting')}</h2><ul class="plain">{found.waiting_for.map((each) => <li key={each.path.join('/')}>
      <span class="dot running" aria-hidden="true" /><strong>{each.path.join(' / ')}</strong> <span class="soft">{each.type}</span> {each.action.toLowerCase()} · {span(each.seconds)} <span class="soft">{each.reason}</span>
      {each.last_answer && <p class="soft">{t('failure.said', { service: each.last_answer.service, text: each.last_answer.said, time: when(each.last_answer.at) })}{each.last_answer.request_id && <> <code>{each.last_answer.request_id}</code></>}</p>}
      {each.call && <p class="soft">{each.next_at ? t('failure.next', { call: each.call, time: when(each.next_at) }) : t('failure.running', { call: each.call })}</p>}
    </li>)}</ul></section>}
    {found.blocked.length > 0 && <section class="card"><h2>{t('failure.blocked')}</h2><ul class="plain">{found.blocked.map((each) => <li key={each.path.join('/')}>
      <span class="dot waiting" aria-hidden="true" /><strong>{each.path.join(' / ')}</strong> <span class="soft">{t('failure.waits', { names: each.waits_for.map((one) => one.join('/')).join(', ') })}</span>
    </li>)}</ul></section>}
    {found.critical_path.length > 0 && <section class="card"><h2>{t('failure.chain')}</h2><ol class="chain">{found.critical_path.map((each) => <li key={each.path.join('/')}>{each.path.join('/')} <span class="soft">{span(each.seconds)}</span></li>)}</ol></section>}
    <Command text={`openstack stack explain ${quoted(name)}`} />
  </div>
}

function Cause({ cause, written }: { cause: Explanation['causes'][number]; written: string }): JSX.Element {
  const place = cause.place
  return <article class="cause">
    <header><h3>{cause.path.join(' / ')}</h3><a class="soft" href={to(['types', cause.type])}>{cause.type}</a><span class="soft">{cause.action.toLowerCase()} · <time title={when(cause.time)}>{ago(cause.time)}</time></span></header>
    <p class="pre failed-text">{cause.reason}</p>
    {cause.advice && <p class="advice"><strong>{t('failure.advice')}</strong> {cause.advice}</p>}
    <Facts facts={[
      ...(place ? [[t('failure.written'), <a href={written}><code>{[place.file ?? t('template.title'), place.line && `${place.line}:${place.column ?? 1}`, place.path].filter(Boolean).join(' ')}</code></a>] as [string, JSX.Element]] : []),
      ...(cause.physical_resource_id ? [[t('failure.object'), <code>{cause.physical_resource_id}</code>] as [string, JSX.Element]] : []),
    ]} />
  </article>
}
