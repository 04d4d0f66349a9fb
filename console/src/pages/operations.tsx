/** The engines and versions, for administrators. */
import type { JSX } from 'preact'
import { get, type Shapes } from '../api/client'
import { ago, t, when } from '../i18n'
import { useEvery, useLoad } from '../parts/load'
import { Empty, Facts, Failure, Loading, Page } from '../parts/ui'
import { to } from '../router'
import { isAdmin } from '../session'

export function Operations(): JSX.Element {
  const engines = useLoad(() => get<Shapes['ServiceList']>('/services'), [])
  const version = useLoad(() => get<Shapes['BuildInfo']>('/build_info'), [])
  const running = useLoad(() => get<Shapes['StackList']>('/stacks?limit=1&with_count=true&status=IN_PROGRESS'), [])
  const failed = useLoad(() => get<Shapes['StackList']>('/stacks?limit=1&with_count=true&status=FAILED'), [])
  useEvery(() => [engines, running, failed].forEach((each) => each.again()), 5000)
  if (!isAdmin()) return <Empty title={t('operations.title')} text={t('operations.denied')} />
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
    <h2>{t('operations.engines')}</h2>
    {engines.value && found.length === 0 && <Empty title={t('operations.none')} text="" />}
    {found.length > 0 && <div class="scroll" tabIndex={0}><table class="table">
      <thead><tr><th>{t('common.status')}</th><th>{t('operations.host')}</th><th>{t('stack.id')}</th><th>{t('operations.report')}</th><th>{t('stack.created')}</th></tr></thead>
      <tbody>{found.map((each) => <tr key={each.id}>
        <td><span class={`state ${each.status === 'up' ? 'complete' : 'failed'}`}><span class="dot" aria-hidden="true" />{t(`operations.${each.status}`)}</span></td>
        <td>{each.hostname}</td><td><code>{each.engine_id}</code></td>
        <td title={when(zoned(each.updated_at))}>{ago(zoned(each.updated_at ?? each.created_at))}</td><td>{when(zoned(each.created_at))}</td>
      </tr>)}</tbody>
    </table></div>}
  </Page>
}

/** Times of engines have no zone; they are UTC. */
function zoned(time: string | null): string | null {
  return time === null ? null : `${time}Z`
}
