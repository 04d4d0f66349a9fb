/** The engines, their work, what it waits for, and versions: for administrators. */
import type { ComponentChildren, JSX } from 'preact'
import { get, type Shapes } from '../api/client'
import { ago, t, when } from '../i18n'
import { useEvery, useLoad } from '../parts/load'
import { Command, Empty, Facts, Failure, Loading, Page } from '../parts/ui'
import { to } from '../router'
import { isAdmin } from '../session'

export function Operations(): JSX.Element {
  const engines = useLoad(() => get<Shapes['ServiceList']>('/services'), [])
  const version = useLoad(() => get<Shapes['BuildInfo']>('/build_info'), [])
  const running = useLoad(() => get<Shapes['StackList']>('/stacks?limit=1&with_count=true&status=IN_PROGRESS'), [])
  const failed = useLoad(() => get<Shapes['StackList']>('/stacks?limit=1&with_count=true&status=FAILED'), [])
  const load = useLoad(() => get<Shapes['OneLoad']>('/services/load'), [])
  useEvery(() => [engines, running, failed].forEach((each) => each.again()), 5000)
  useEvery(load.again, 15_000)
  if (!isAdmin()) return <Empty title={t('operations.title')} text={t('operations.denied')} />
  const work = load.value?.load
  const driven = new Map(work?.engines.map((each) => [each.engine_id, each.stacks]))
  const found = engines.value?.services.filter((each) => !each.deleted_at) ?? []
  return <Page title={t('operations.title')}>
    {engines.error !== null && <Failure error={engines.error} retry={engines.again} />}
    {!engines.value && engines.error === null && <Loading />}
    <section class="card"><Facts facts={[
      [t('operations.engines'), `${found.filter((each) => each.status === 'up').length} / ${found.length}`],
      [t('operations.running'), <a href={to(['stacks'], { state: 'running' })}>{running.value?.count ?? '—'}</a>],
      [t('operations.failed'), <a href={to(['stacks'], { state: 'failed' })}>{failed.value?.count ?? '—'}</a>],
      [t('operations.version'), version.value?.api.revision ?? '—'],
    ]} /></section>
    {load.error !== null && <Failure error={load.error} retry={load.again} />}
    {work && <Work work={work} />}
    <h2>{t('operations.engines')}</h2>
    {engines.value && found.length === 0 && <Empty title={t('operations.none')} text="" />}
    {found.length > 0 && <div class="scroll" tabIndex={0}><table class="table">
      <thead><tr><th>{t('common.status')}</th><th>{t('operations.host')}</th><th>{t('stack.id')}</th><th>{t('operations.drives')}</th><th>{t('operations.report')}</th><th>{t('stack.created')}</th></tr></thead>
      <tbody>{found.map((each) => <tr key={each.id}>
        <td><span class={`state ${each.status === 'up' ? 'complete' : 'failed'}`}><span class="dot" aria-hidden="true" />{t(`operations.${each.status}`)}</span></td>
        <td>{each.hostname}</td><td><code>{each.engine_id}</code></td><td>{driven.get(each.engine_id) ?? 0}</td>
        <td title={when(zoned(each.updated_at))}>{ago(zoned(each.updated_at ?? each.created_at))}</td><td>{when(zoned(each.created_at))}</td>
      </tr>)}</tbody>
    </table></div>}
    <Command text="openstack orchestration service list" />
  </Page>
}

/** What waits, what is in progress, and which services take long: of all projects, in numbers. */
function Work({ work }: { work: Shapes['OneLoad']['load'] }): JSX.Element {
  const { queue } = work
  const alarming = (count: number): JSX.Element => <span class={count ? 'failed-text' : ''}>{count}</span>
  return <>
    <h2>{t('operations.queue')}</h2>
    <section class="card"><Facts facts={[
      [t('operations.free'), queue.free],
      [t('operations.silent'), alarming(queue.silent)],
      [t('operations.struck'), alarming(queue.struck)],
      [t('operations.signals'), <>{queue.signals}{queue.oldest_signal && <span class="soft"> {t('failure.since', { time: when(queue.oldest_signal) })}</span>}</>],
    ]} /></section>
    <h2>{t('operations.work')}</h2>
    {work.running.length === 0 && <p class="soft">{t('operations.idle')}</p>}
    {work.running.length > 0 && <Table heads={[t('common.action'), t('nav.stacks'), t('operations.oldest')]}
      rows={work.running.map((each) => [each.action.toLowerCase(), each.stacks, <Since at={each.since} />])} />}
    <h2>{t('operations.services')}</h2>
    {work.services.length === 0 && <p class="soft">{t('operations.services.none')}</p>}
    {work.services.length > 0 && <Table heads={[t('operations.service'), t('operations.waiting'), t('operations.failing'), t('operations.oldest')]}
      rows={work.services.map((each) => [<strong>{each.service}</strong>, each.resources, alarming(each.failing), <Since at={each.since} />])} />}
  </>
}

function Since({ at }: { at: string }): JSX.Element {
  return <time title={when(at)}>{ago(at)}</time>
}

function Table({ heads, rows }: { heads: string[]; rows: ComponentChildren[][] }): JSX.Element {
  return <div class="scroll" tabIndex={0}><table class="table">
    <thead><tr>{heads.map((each) => <th key={each}>{each}</th>)}</tr></thead>
    <tbody>{rows.map((row, place) => <tr key={place}>{row.map((each, at) => <td key={at}>{each}</td>)}</tr>)}</tbody>
  </table></div>
}

/** Times of engines have no zone; they are UTC. */
function zoned(time: string | null): string | null {
  return time === null || time.endsWith('Z') ? time : `${time}Z`
}
