/** A plan: what will be done to each resource, what checks and policies say; approved and applied here. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call, get, stackOf, type Plan, type Shapes } from '../api/client'
import { t, when } from '../i18n'
import { useLoad } from '../parts/load'
import { Act, Command, Confirm, Facts, Failure, Loading, Page, text, word } from '../parts/ui'
import { go, to } from '../router'
import { mayChange } from '../session'
import { summaryOf } from './plans'

type Change = Plan['changes'][number]
type Value = Change['values'][number]

const MARKS: Record<string, string> = { create: '+', update: '~', replace: '±', delete: '−', release: '×', import: '↓', none: '', unknown: '?' }
const ORDER = ['delete', 'replace', 'release', 'update', 'create', 'import', 'unknown', 'none']

export function PlanPage({ id }: { id: string }): JSX.Element {
  const { value, error, again } = useLoad(() => get<Shapes['OnePlan']>(`/plans/${encodeURIComponent(id)}`), [id])
  const [asking, setAsking] = useState<'apply' | 'discard' | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const plan = value?.plan
  if (!plan) return error !== null ? <Failure error={error} retry={again} /> : <Loading />
  const open = plan.state !== 'APPLIED'
  const apply = async (): Promise<void> => {
    const done = await call<Shapes['NewStack'] | null>('POST', `/plans/${id}/apply`, { digest: plan.digest })
    const link = done?.stack?.links[0]?.href
    const stack = link ? stackOf(link) : plan.stack_id ? { name: plan.stack_name, id: plan.stack_id } : null
    if (stack && plan.action !== 'delete') go(to(['stack', stack.name, stack.id]))
    else if (stack) go(to(['stacks']))
    else {
      const found = await get<Shapes['StackList']>(`/stacks?name=${encodeURIComponent(plan.stack_name)}`)
      const made = found.stacks[0]
      go(made ? to(['stack', made.stack_name, made.id]) : to(['stacks']))
    }
  }
  return <Page title={t('plan.title', { action: word('plan.action', plan.action), name: plan.stack_name })}
    crumbs={<a class="crumb" href={to(['plans'])}>{t('plans.title')}</a>}
    actions={open && mayChange() ? <>
      <Act command={`openstack stack plan delete ${plan.id}`} onClick={() => setAsking('discard')}>{t('plan.discard')}</Act>
      {plan.state === 'READY' && <Act command={`openstack stack plan approve ${plan.id}`} onClick={() => void call('POST', `/plans/${id}/approve`).then(again, setProblem)}>{t('plan.approve')}</Act>}
      <Act tone="primary" command={`openstack stack plan apply ${plan.id}`} onClick={() => setAsking('apply')}>{t('plan.apply')}</Act>
    </> : undefined}>
    {problem !== null && <Failure error={problem} />}
    <section class="card">
      <p class="big">{plan.is_empty ? t('plan.none') : summaryOf(plan)}</p>
      <Facts facts={[
        [t('plans.state'), <span class={`badge ${plan.state.toLowerCase()}`}>{plan.state.toLowerCase()}</span>],
        [t('common.author'), plan.author ?? '—'],
        ...(plan.approver ? [[t('plan.approve'), t('plan.approved', { name: plan.approver })] as [string, string]] : []),
        [t('plans.expires'), when(plan.expiry_time)],
        [t('plan.digest'), <code>{plan.digest.slice(0, 12)}</code>],
        ...(plan.cost ? [[t('plan.cost'), `${plan.cost.per_hour.before} → ${plan.cost.per_hour.after} ${plan.cost.currency}`] as [string, string]] : []),
      ]} />
      <Command text={`openstack stack plan apply ${plan.id}`} />
    </section>
    {plan.fails && <p class="notice failed">{t('plan.fails', { error: plan.fails })}</p>}
    {plan.blockers && plan.blockers.length > 0 && <section class="notice failed">
      <h2>{t('plan.blocked')}</h2>
      <ul>{plan.blockers.map((each) => <li key={each.path.join('/') + each.action}><code>{each.path.join('/') || t('guards.whole')}</code> {word('plan.action', each.action)} {each.protection.reason}</li>)}</ul>
    </section>}
    {plan.policies && plan.policies.some((each) => each.effect !== 'allow') && <section class="notice waiting">
      <h2>{t('plan.policies')}</h2>
      <ul>{plan.policies.filter((each) => each.effect !== 'allow').map((each) => <li key={each.policy}><strong>{each.effect}</strong> {each.policy}: {each.reasons.join('; ')}</li>)}</ul>
    </section>}
    {plan.findings.length > 0 && <section class="card">
      <h2>{t('plan.findings')}</h2>
      <ul class="plain">{plan.findings.map((each, number) => <li key={number} class={`finding ${each.level}`}><span class="badge">{each.level}</span><span>{each.path.length > 0 && <code>{each.path.join('/')}</code>} {each.text}</span></li>)}</ul>
    </section>}
    {!plan.is_empty && <section>
      <h2>{t('plan.changes')}</h2>
      {[...plan.changes].filter((each) => each.action !== 'none').sort((a, b) => ORDER.indexOf(a.action) - ORDER.indexOf(b.action) || 0).map((change) => <ChangeCard key={change.path.join('/') + change.action} change={change} />)}
      {plan.outputs.length > 0 && <details class="change"><summary><strong>{t('plan.outputs')}</strong></summary><Values values={plan.outputs} /></details>}
    </section>}
    {Object.keys(plan.totals).length > 0 && <section class="card">
      <h2>{t('plan.totals')}</h2>
      <Facts facts={Object.entries(plan.totals).map(([name, total]) => [name.replaceAll('_', ' '), total.before === total.after ? String(total.after) : `${total.before} → ${total.after}`])} />
    </section>}
    {asking === 'apply' && <Confirm tone="primary" title={t('plan.apply.confirm')} text={t('plan.apply.text')} label={t('plan.apply')} command={`openstack stack plan apply ${plan.id}`} act={apply} close={() => setAsking(null)} />}
    {asking === 'discard' && <Confirm title={t('plan.discard')} text={t('plan.apply.text')} label={t('plan.discard')} command={`openstack stack plan delete ${plan.id}`}
      act={() => call<null>('DELETE', `/plans/${id}`).then(() => go(to(['plans'])))} close={() => setAsking(null)} />}
  </Page>
}

function ChangeCard({ change }: { change: Change }): JSX.Element {
  const loud = change.action === 'delete' || change.action === 'replace'
  return <details class={`change ${change.action}`} open={loud || change.action === 'update'}>
    <summary>
      <span class="mark" aria-hidden="true">{MARKS[change.action]}</span>
      <strong>{change.path.join(' / ')}</strong>
      <span class="soft">{change.type}</span>
      <span class={`badge ${change.action}`}>{word('plan.action', change.action)}</span>
    </summary>
    {change.reason && <p class="soft">{change.reason}</p>}
    {change.cause && <p class="soft">{t('plan.cause', { kind: change.cause.kind, what: change.cause.what })}{change.cause.line && ` · ${change.cause.line}:${change.cause.column ?? 1}`}{change.cause.by && ` · ${change.cause.by}`}{change.cause.at && ` · ${when(change.cause.at)}`}</p>}
    {change.may.length > 0 && <p class="soft">{change.may.map((each) => word('plan.action', each)).join(', ')}</p>}
    <Values values={change.values} />
  </details>
}

function Values({ values }: { values: Value[] }): JSX.Element | null {
  if (!values.length) return null
  return <table class="values">
    <thead><tr><th>{t('common.name')}</th><th>{t('plan.before')}</th><th>{t('plan.after')}</th><th>{t('common.reason')}</th></tr></thead>
    <tbody>{values.map((each) => {
      const cause = each.cause
      return <tr key={each.path.join('.')}>
        <th scope="row">{each.path.join('.')}{each.forces_replacement && <span class="badge replace">{t('plan.forces')}</span>}</th>
        <td><pre>{text(each.before)}</pre>{'live' in each && each.live !== undefined && <p class="soft">{t('plan.live')}: {text(each.live)}</p>}</td>
        <td>{each.unknown ? <em>{t('plan.unknown')}</em> : <pre>{text(each.after)}</pre>}</td>
        <td class="soft">{cause && `${cause.kind} ${cause.what}${cause.line ? ` ${cause.line}:${cause.column ?? 1}` : ''}`}</td>
      </tr>
    })}</tbody>
  </table>
}
