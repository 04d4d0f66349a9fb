/** The login at Keystone, by one of three methods, through the service. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../i18n'
import { Field } from '../parts/ui'
import { logIn } from '../session'

type Method = 'password' | 'credential' | 'token'

export function Login({ expired, done }: { expired: boolean; done: () => void }): JSX.Element {
  const [method, setMethod] = useState<Method>('password')
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)

  const submit = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form)
    const value = (name: string): string => String(data.get(name) ?? '').trim()
    const scope = value('project') ? { scope: { project: { name: value('project'), domain: { name: value('project_domain') || 'Default' } } } } : {}
    const identity = {
      password: { methods: ['password'], password: { user: { name: value('user'), domain: { name: value('domain') || 'Default' }, password: String(data.get('password') ?? '') } } },
      credential: { methods: ['application_credential'], application_credential: { id: value('id'), secret: String(data.get('secret') ?? '') } },
      token: { methods: ['token'], token: { id: value('token') } },
    }[method]
    if (!await logIn(identity, method === 'credential' ? {} : scope, data.has('stay'))) throw new Error(t('login.noproject'))
  }

  return <main class="login" id="content">
    <form aria-labelledby="login-title" onSubmit={(event) => {
      event.preventDefault()
      setBusy(true)
      setError('')
      submit(event.currentTarget).then(done, (problem: Error) => {
        setError(problem.message)
        setBusy(false)
      })
    }}>
      <p class="brand"><img src="icon.svg" alt="" width="34" height="34" />{t('app.name')}</p>
      <h1 id="login-title">{t('login.title')}</h1>
      <p class="soft">{expired ? t('login.expired') : t('login.intro')}</p>
      <Field label={t('login.method')}>
        <select value={method} onChange={(event) => setMethod(event.currentTarget.value as Method)}>
          <option value="password">{t('login.password')}</option>
          <option value="credential">{t('login.credential')}</option>
          <option value="token">{t('login.token')}</option>
        </select>
      </Field>
      {method === 'password' && <>
        <Field label={t('login.user')}><input name="user" autocomplete="username" required /></Field>
        <Field label={t('login.password')}><input name="password" type="password" autocomplete="current-password" required /></Field>
        <Field label={t('login.domain')}><input name="domain" placeholder="Default" /></Field>
      </>}
      {method === 'credential' && <>
        <Field label={t('login.id')}><input name="id" required /></Field>
        <Field label={t('login.secret')}><input name="secret" type="password" required /></Field>
      </>}
      {method === 'token' && <Field label={t('login.token')}><input name="token" type="password" required /></Field>}
      {method !== 'credential' && <>
        <Field label={t('login.project')}><input name="project" required={method === 'password'} /></Field>
        <Field label={t('login.project.domain')}><input name="project_domain" placeholder="Default" /></Field>
      </>}
      {method !== 'token' && <label class="check"><input type="checkbox" name="stay" defaultChecked />{t('login.stay')}</label>}
      {error && <p class="notice failed" role="alert">{error}</p>}
      <button class="button primary wide" disabled={busy}>{t('login.submit')}</button>
    </form>
  </main>
}
