/** The plans of the project. */
import type { JSX } from 'preact'
import { get, type PlanSummary, type Shapes } from '../api/client'
import { t, when } from '../i18n'
import { useLoad } from '../parts/load'
import { Rows, type Column } from '../parts/rows'
import { Empty, Failure, Loading, Page, word } from '../parts/ui'
import { to } from '../router'

export function summaryOf(plan: PlanSummary): string {
  return Object.entries(plan.summary).filter(([action, count]) => count && action !== 'none').map(([action, count]) => `${count} ${word('plan.action', action)}`).join(', ')
}

export function Plans(): JSX.Element {
  const { value, error, again } = useLoad(() => get<Shapes['PlanList']>('/plans?limit=200'), [])
  const columns: Column<PlanSummary>[] = [
    { id: 'stack', head: t('plans.stack'), width: 'minmax(9rem, 1.4fr)', cell: (each) => <a class="strong" href={to(['plan', each.id])}>{word('plan.action', each.action)} {each.stack_name}</a> },
    { id: 'state', head: t('plans.state'), width: '9rem', cell: (each) => <span class={`badge ${each.state.toLowerCase()}`}>{each.state.toLowerCase()}</span> },
    { id: 'summary', head: t('plans.summary'), width: 'minmax(9rem, 2fr)', cell: (each) => summaryOf(each) || t('plan.none') },
    { id: 'author', head: t('common.author'), width: 'minmax(6rem, 1fr)', cell: (each) => each.author ?? '' },
    { id: 'until', head: t('plans.expires'), width: 'minmax(10rem, 1fr)', cell: (each) => when(each.expiry_time) },
  ]
  return <Page title={t('plans.title')}>
    {error !== null && <Failure error={error} retry={again} />}
    {!value && error === null && <Loading />}
    {value?.plans.length === 0 && <Empty title={t('plans.empty.title')} text={t('plans.empty.text')} />}
    {value && value.plans.length > 0 && <Rows label={t('plans.title')} rows={value.plans} columns={columns} id={(each) => each.id} height="calc(100vh - 130px)" />}
  </Page>
}
