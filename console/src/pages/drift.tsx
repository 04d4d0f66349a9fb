/** Drift: how the objects of a stack differ from what it has applied, by the last look; and a look now. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call, get, type Shapes } from '../api/client'
import { ago, t, when } from '../i18n'
import { useLoad } from '../parts/load'
import { Act, Command, Empty, Failure, Loading, quoted, text, word } from '../parts/ui'
import { mayChange } from '../session'

type Report = NonNullable<Shapes['OneDrift']['drift']>

export function Drift({ path, name }: { path: string; name: string }): JSX.Element {
  const { value, error, again } = useLoad(() => get<Shapes['OneDrift']>(`${path}/drift`), [path])
  const [looking, setLooking] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)
  if (error !== null) return <Failure error={error} retry={again} />
  if (!value) return <Loading />
  const look = (): void => {
    setLooking(true)
    setProblem(null)
    call<Shapes['OneDrift']>('POST', `${path}/drift`).then(again, setProblem).finally(() => setLooking(false))
  }
  const report = value.drift
  return <>
    {problem !== null && <Failure error={problem} />}
    <div class="bar">
      {mayChange() && <Act tone="primary" disabled={looking} command={`openstack stack drift ${quoted(name)}`} onClick={look}>{looking ? t('drift.looking') : t('drift.look')}</Act>}
      {report && <span class="soft">{t('drift.looked', { time: when(report.looked_at) })} <time title={when(report.looked_at)}>({ago(report.looked_at)})</time></span>}
    </div>
    {!report && <Empty title={t('drift.never.title')} text={t('drift.never.text')} />}
    {report && !report.is_drifted && <Empty title={t('drift.same.title')} text={counts(report)} />}
    {report && report.is_drifted && <p class="big failed-text">{counts(report)}</p>}
    {report?.resources.map((each) => <article class="card" key={each.path.join('/')}>
      <h3><strong>{each.path.join(' / ')}</strong> <span class="soft">{each.type}</span> <span class={`badge ${each.finding === 'unreadable' ? '' : 'delete'}`}>{word('drift.finding', each.finding)}</span></h3>
      {each.reason && <p class="soft">{each.reason}</p>}
      <p class="soft">{t('drift.policy', { policy: each.policy, time: when(each.noticed_at) })}</p>
      {each.properties.length > 0 && <table class="values">
        <thead><tr><th>{t('drift.property')}</th><th>{t('drift.expected')}</th><th>{t('drift.actual')}</th></tr></thead>
        <tbody>{each.properties.map((one) => <tr key={one.path.join('.')}><td><code>{one.path.join('.')}</code></td><td><code>{text(one.expected)}</code></td><td><code>{text(one.actual)}</code></td></tr>)}</tbody>
      </table>}
    </article>)}
    <Command text={`openstack stack drift --stored ${quoted(name)}`} />
  </>
}

function counts(report: Report): string {
  return Object.entries(report.summary).filter(([, count]) => count > 0).map(([finding, count]) => `${word('drift.finding', finding)}: ${count}`).join(', ')
}
