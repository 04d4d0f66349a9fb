/** Small parts that all pages use. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/client'
import { t } from '../i18n'
import type { Key } from '../texts/en'

export type Tone = 'complete' | 'running' | 'failed' | 'waiting' | 'deleted' | 'undone' | 'other'

/** How a state of a stack or a resource looks: CREATE_FAILED is `failed`. */
export function toneOf(status: string): Tone {
  if (status.endsWith('_IN_PROGRESS') || status === 'IN_PROGRESS') return 'running'
  if (status.endsWith('FAILED')) return 'failed'
  if (status.startsWith('INIT')) return 'waiting'
  if (status.startsWith('DELETE_')) return 'deleted'
  return 'complete'
}

export function State({ status }: { status: string }): JSX.Element {
  return <span class={`state ${toneOf(status)}`}><span class="dot" aria-hidden="true" />{status.replaceAll('_', ' ').toLowerCase()}</span>
}

type ButtonProps = JSX.IntrinsicElements['button'] & { tone?: 'primary' | 'danger' | 'quiet' }

export function Button({ tone, class: more, ...rest }: ButtonProps): JSX.Element {
  return <button type="button" class={`button ${tone ?? ''} ${typeof more === 'string' ? more : ''}`} {...rest} />
}

export function Page({ title, actions, children, crumbs }: {
  title: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; crumbs?: ComponentChildren
}): JSX.Element {
  return <>
    <header class="page-head">
      <div class="page-title">{crumbs}<h1>{title}</h1></div>
      <div class="actions">{actions}</div>
    </header>
    {children}
  </>
}

export function Empty({ title, text, children }: { title: string; text: string; children?: ComponentChildren }): JSX.Element {
  return <div class="empty"><h2>{title}</h2><p>{text}</p>{children}</div>
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }): JSX.Element {
  return <div class="notice failed" role="alert">
    <strong>{t('common.error')}</strong>
    <p class="pre">{wordsOf(error)}</p>
    {retry && <Button onClick={retry}>{t('common.retry')}</Button>}
  </div>
}

export function wordsOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 0) return t('error.network')
  return error instanceof Error ? error.message : String(error)
}

export function Loading(): JSX.Element {
  return <p class="loading" role="status">{t('common.loading')}</p>
}

/** Whether the text was copied just now, and what copies it. */
function useCopy(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false)
  return [copied, (text) => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true)
      setTimeout(() => setCopied(false), 1500)
    }, () => undefined)
  }]
}

/**
 * A button that changes something, with one beside it that copies the command for the same. `filled`: the command with what
 * a form has by then.
 */
export function Act({ command, filled, ...button }: ButtonProps & { command: string; filled?: () => string }): JSX.Element {
  const [copied, copy] = useCopy()
  const words = `${t('common.command')}: ${command}`
  return <span class="act">
    <Button {...button} />
    <button type="button" class="copy" aria-label={words} title={words} onClick={() => copy(filled ? filled() : command)}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5">
        {copied ? <path d="M3 8.5 6.5 12 13 4.5" /> : <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />}
      </svg>
    </button>
  </span>
}

/** The command that shows or does the same as what is beside it. */
export function Command({ text }: { text: string }): JSX.Element {
  const [copied, copy] = useCopy()
  return <span class="command">
    <code>{text}</code>
    <Button tone="quiet" aria-label={`${t('common.command')}: ${text}`} onClick={() => copy(text)}>{copied ? t('common.copied') : t('common.copy')}</Button>
  </span>
}

/** A text for a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

export function Dialog({ title, close, children, foot }: {
  title: string; close: () => void; children: ComponentChildren; foot?: ComponentChildren
}): JSX.Element {
  const place = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    place.current?.showModal()
  }, [])
  return <dialog ref={place} aria-label={title} onClose={close} onCancel={close}>
    <h2>{title}</h2>
    <div class="dialog-body">{children}</div>
    <div class="dialog-foot">{foot}<Button onClick={close}>{t('common.cancel')}</Button></div>
  </dialog>
}

/** A dialog that asks before something is done, with the command for it. */
export function Confirm({ title, text, command, label, act, close, tone = 'danger' }: {
  title: string; text: string; command?: string; label: string; act: () => Promise<void>; close: () => void; tone?: 'danger' | 'primary'
}): JSX.Element {
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const go = (): void => {
    setBusy(true)
    act().then(close, (problem: unknown) => {
      setError(problem)
      setBusy(false)
    })
  }
  return <Dialog title={title} close={close} foot={<Button tone={tone} disabled={busy} onClick={go}>{label}</Button>}>
    <p>{text}</p>
    {command && <Command text={command} />}
    {error !== null && <Failure error={error} />}
  </Dialog>
}

export function Tabs({ label, tabs, current, address }: {
  label: string; tabs: { id: string; text: string; mark?: Tone }[]; current: string; address: (id: string) => string
}): JSX.Element {
  return <nav class="tabs" aria-label={label}>
    {tabs.map((tab) => <a key={tab.id} href={address(tab.id)} aria-current={tab.id === current ? 'page' : undefined}>
      {tab.text}{tab.mark && <span class={`dot ${tab.mark}`} aria-hidden="true" />}
    </a>)}
  </nav>
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }): JSX.Element {
  return <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }): JSX.Element {
  return <label class="field"><span class="label">{label}</span>{children}{hint && <span class="hint">{hint}</span>}</label>
}

export function text(value: unknown): string {
  if (value === null || value === undefined) return '—'
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
}

/** A text of the catalogue by a key that is put together; the key itself if there is none. */
export function word(prefix: string, name: string): string {
  return t(`${prefix}.${name}` as Key)
}
