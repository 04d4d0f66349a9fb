/** Protections and the lock of a stack. */
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { call, get, type Shapes } from '../api/client'
import { t, when } from '../i18n'
import { useLoad } from '../parts/load'
import { Act, Failure, Field, Loading, quoted, word } from '../parts/ui'
import { mayChange } from '../session'

const DENIALS = ['update', 'replace', 'delete'] as const

/** The path of a protection as an option; the whole stack has none. */
function at(path: string): string {
  return path ? ` --resource ${quoted(path)}` : ''
}

function protect(name: string, form: FormData): string {
  const denied = DENIALS.filter((each) => form.has(each)).map((each) => ` --deny ${each}`).join('')
  const reason = String(form.get('reason') ?? '')
  return `openstack stack protect ${quoted(name)}${at(String(form.get('path') ?? ''))}${denied}${reason ? ` --reason ${quoted(reason)}` : ''}`
}

export function Guards({ path, name }: { path: string; name: string }): JSX.Element {
  const protections = useLoad(() => get<Shapes['Protections']>(`${path}/protections`), [path])
  const lock = useLoad(() => get<Shapes['OneLock']>(`${path}/lock`), [path])
  const [problem, setProblem] = useState<unknown>(null)
  const added = useRef<HTMLFormElement>(null)
  const locked = useRef<HTMLFormElement>(null)
  if (protections.error !== null) return <Failure error={protections.error} retry={protections.again} />
  if (!protections.value || !lock.value) return <Loading />
  const found = protections.value.protections
  const done = (): void => {
    setProblem(null)
    protections.again()
    lock.again()
  }
  const set = (next: typeof found): void => void (next.length
    ? call('PUT', `${path}/protections`, { protections: next }) : call('DELETE', `${path}/protections`)).then(done, setProblem)
  const held = lock.value.lock
  return <div class="two">
    {problem !== null && <Failure error={problem} />}
    <section class="card">
      <h2>{t('guards.title')}</h2>
      <p class="soft">{t('guards.text')}</p>
      {found.length === 0 && <p>{t('guards.empty')}</p>}
      <ul class="plain">{found.map((each) => <li key={each.path}>
        <code>{each.path || t('guards.whole')}</code> {each.deny.map((one) => <span class="badge delete" key={one}>{word('plan.action', one)}</span>)} <span class="soft">{each.reason}</span>
        {mayChange() && <Act tone="quiet" command={`openstack stack unprotect ${quoted(name)}${at(each.path)}`} onClick={() => set(found.filter((one) => one !== each))}>{t('guards.remove')}</Act>}
      </li>)}</ul>
      {mayChange() && <form ref={added} onSubmit={(event) => {
        event.preventDefault()
        const data = new FormData(event.currentTarget)
        const deny = DENIALS.filter((each) => data.has(each))
        const at = String(data.get('path') ?? '')
        if (deny.length) set([...found.filter((each) => each.path !== at), { path: at, deny, reason: String(data.get('reason') ?? '') }])
        event.currentTarget.reset()
      }}>
        <Field label={t('guards.path')} hint={t('guards.path.hint')}><input name="path" maxLength={1024} /></Field>
        <fieldset><legend>{t('guards.deny')}</legend>{DENIALS.map((each) => <label class="check" key={each}><input type="checkbox" name={each} defaultChecked={each === 'delete'} />{word('plan.action', each)}</label>)}</fieldset>
        <Field label={t('common.reason')}><input name="reason" maxLength={255} /></Field>
        <Act tone="primary" type="submit" command={`openstack stack protect ${quoted(name)} --deny delete`} filled={() => protect(name, new FormData(added.current ?? undefined))}>{t('guards.add')}</Act>
      </form>}
    </section>
    <section class="card">
      <h2>{t('lock.title')}</h2>
      <p class="soft">{t('lock.text')}</p>
      {held && <p class="notice waiting">{t('lock.by', { owner: held.owner ?? '?', time: when(held.creation_time), reason: held.reason })}</p>}
      {mayChange() && (held
        ? <Act command={`openstack stack unlock ${quoted(name)}`} onClick={() => void call('DELETE', `${path}/lock`).then(done, setProblem)}>{t('lock.unset')}</Act>
        : <form ref={locked} onSubmit={(event) => {
          event.preventDefault()
          void call('PUT', `${path}/lock`, { reason: String(new FormData(event.currentTarget).get('reason') ?? '') }).then(done, setProblem)
        }}>
          <Field label={t('lock.reason')}><input name="reason" required maxLength={255} /></Field>
          <Act type="submit" command={`openstack stack lock ${quoted(name)} --reason ...`} filled={() => `openstack stack lock ${quoted(name)} --reason ${quoted(String(new FormData(locked.current ?? undefined).get('reason') || '...'))}`}>{t('lock.set')}</Act>
        </form>)}
    </section>
  </div>
}
