/** The accepted definitions of a stack, what each changed, and the way back. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call, get, type Shapes } from '../api/client'
import { ago, t, when } from '../i18n'
import { useLoad } from '../parts/load'
import { Act, Command, Empty, Failure, Loading, quoted, text } from '../parts/ui'
import { go, to } from '../router'
import { mayChange } from '../session'

type Diff = Shapes['RevisionDiff']['diff']
type Entry = Shapes['RevisionEntries'][number]
const PARTS = ['resources', 'parameters', 'outputs', 'conditions', 'parameter_definitions', 'template', 'environment'] as const
const MARKS = { added: '+', removed: '−', changed: '~' }

export function Revisions({ path, name, id, chosen }: { path: string; name: string; id: string; chosen: string | null }): JSX.Element {
  const { value, error } = useLoad(() => get<Shapes['RevisionList']>(`${path}/revisions?limit=100`), [path])
  if (error !== null) return <Failure error={error} />
  if (!value) return <Loading />
  if (!value.revisions.length) return <Empty title={t('revisions.empty')} text="" />
  return <div class="split">
    <div class="scroll" tabIndex={0}><table class="table">
      <thead><tr><th>{t('revisions.number')}</th><th>{t('common.action')}</th><th>{t('revisions.outcome')}</th><th>{t('common.author')}</th><th>{t('common.time')}</th></tr></thead>
      <tbody>{value.revisions.map((each) => <tr key={each.number} aria-current={String(each.number) === chosen ? 'true' : undefined}>
        <td><a class="strong" href={to(['stack', name, id, 'revisions'], { revision: String(each.number) })}>{each.number}</a></td>
        <td>{each.action?.toLowerCase()}</td><td><span class={`badge ${each.outcome?.toLowerCase() ?? ''}`}>{each.outcome?.replaceAll('_', ' ').toLowerCase()}</span></td><td>{each.author}</td><td><time title={when(each.creation_time)}>{ago(each.creation_time)}</time></td>
      </tr>)}</tbody>
    </table></div>
    {chosen ? <One key={chosen} path={path} name={name} number={chosen} newest={String(value.revisions[0]?.number) === chosen} /> : <Empty title={t('revisions.choose')} text="" />}
  </div>
}

function One({ path, name, number, newest }: { path: string; name: string; number: string; newest: boolean }): JSX.Element {
  const { value, error } = useLoad(() => get<Shapes['RevisionDiff']>(`${path}/revisions/${number}/diff`), [path, number])
  const [problem, setProblem] = useState<unknown>(null)
  if (error !== null) return <Failure error={error} />
  if (!value) return <Loading />
  const diff: Diff = value.diff
  const back = (): void => void call<Shapes['OnePlan']>('POST', `${path}/plans`, { revision: Number(number) }).then((made) => go(to(['plan', made.plan.id])), setProblem)
  return <article class="detail">
    <h2>{t('revisions.diff', { number })}</h2>
    {problem !== null && <Failure error={problem} />}
    {!newest && mayChange() && <p><Act tone="primary" command={`openstack stack plan create --revision ${number} ${quoted(name)}`} onClick={back}>{t('revisions.back', { number })}</Act></p>}
    <Command text={`openstack stack revision diff ${quoted(name)} ${number}`} />
    {diff.is_empty && <p>{t('revisions.same')}</p>}
    {PARTS.map((part) => diff[part].map((each) => <EntryCard key={part + each.name} part={part} entry={each} />))}
    {diff.files.map((each) => <details class="change" open key={each.name}><summary><span class="mark">{MARKS[each.change]}</span><code>{each.name}</code></summary><pre class="code">{each.diff ?? ''}</pre></details>)}
  </article>
}

function EntryCard({ part, entry }: { part: string; entry: Entry }): JSX.Element {
  return <details class={`change ${{ added: 'create', removed: 'delete', changed: 'update' }[entry.change]}`} open={entry.change === 'changed'}>
    <summary><span class="mark" aria-hidden="true">{MARKS[entry.change]}</span><strong>{entry.name}</strong><span class="soft">{entry.type ?? part.replaceAll('_', ' ')}</span></summary>
    <table class="values"><thead><tr><th>{t('common.name')}</th><th>{t('plan.before')}</th><th>{t('plan.after')}</th></tr></thead>
      <tbody>{entry.values.map((each) => <tr key={each.path.join('.')}><th scope="row">{each.path.join('.')}</th><td><pre>{text(each.before)}</pre></td><td><pre>{text(each.after)}</pre>{each.hidden && <em>{t('common.hidden')}</em>}</td></tr>)}</tbody></table>
  </details>
}
