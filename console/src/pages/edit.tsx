/** Creates or updates a stack: an editor with complaints at their lines, a form of the parameters, a plan before it. */
import { dump } from 'js-yaml'
import type { JSX } from 'preact'
import { lazy, Suspense } from 'preact/compat'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, call, get, stackPath, type Shapes, type StackDetail } from '../api/client'
import { t } from '../i18n'
import { Knowledge, writtenAs } from '../parts/knowledge'
import { useLoad } from '../parts/load'
import type { Complaint, Source } from '../parts/editor'
import { Act, Command, Failure, Field, Loading, Page, quoted } from '../parts/ui'
import { go, to } from '../router'

const Editor = lazy(() => import('../parts/editor').then((found) => ({ default: found.Editor })))
const PAUSE = 500

const EXAMPLE = `heat_template_version: 2021-04-16
description: A password and a greeting

parameters:
  length:
    type: number
    default: 16
    description: Length of the password
    constraints:
      - range: {min: 8, max: 64}

resources:
  password:
    type: OS::Heat::RandomString
    properties:
      length: {get_param: length}

outputs:
  password:
    description: The password
    value: {get_attr: [password, value]}
`

interface Parameter {
  Type: string
  Label: string
  Description?: string
  Default?: unknown
  NoEcho: string
  AllowedValues?: unknown[]
  MinLength?: number
  MaxLength?: number
  MinValue?: number
  MaxValue?: number
  AllowedPattern?: string
  ConstraintDescription?: string
  CustomConstraint?: string
}

/** The complaints in an error of the service: places are "root stack:5:18, path: text". That of the first is in the line
    after its text, with a hint or without; so is "line 4, column 5" of a text that cannot be parsed. */
export function complaintsOf(message: string): Complaint[] {
  const found: Complaint[] = []
  let words = ''
  for (const line of message.split('\n')) {
    const place = /^(?:root stack|template):(\d+):(\d+)(?:, (.+?))?(?:: (.*))?$/.exec(line)
      ?? /line (\d+), column (\d+)()(?::\s*(.*))?$/.exec(line)
    if (place) {
      found.push({
        line: Number(place[1]), column: Number(place[2]),
        message: [words, place[3], place[4]].filter(Boolean).join(' – ') || line,
      })
      words = ''
    } else words = [words, line.trim()].filter(Boolean).join(' ')
  }
  if (!found.length && words) found.push({ line: 1, column: 1, message: words })
  return found
}

export function Edit({ stack }: { stack?: { name: string; id: string } }): JSX.Element {
  const path = stack && stackPath(stack.name, stack.id)
  const stored = useLoad(async () => (path ? {
    template: dump(await get<Record<string, unknown>>(`${path}/template`), { lineWidth: 110 }),
    detail: (await get<Shapes['OneStack']>(path)).stack,
  } : { template: EXAMPLE, detail: null }), [path])
  if (stored.error !== null) return <Failure error={stored.error} retry={stored.again} />
  if (!stored.value) return <Loading />
  return <Form path={path} name={stack?.name ?? ''} id={stack?.id ?? ''} template={stored.value.template} detail={stored.value.detail} />
}

function Form({ path, name, id, template, detail }: { path: string | undefined; name: string; id: string; template: string; detail: StackDetail | null }): JSX.Element {
  const [source, setSource] = useState<{ text: Source }>({ text: () => template })
  const [stackName, setStackName] = useState(name)
  const [tags, setTags] = useState((detail?.tags ?? []).join(','))
  const [rollback, setRollback] = useState(detail ? !detail.disable_rollback : false)
  const [values, setValues] = useState<Record<string, string>>({})
  const [known, setKnown] = useState<Record<string, Parameter>>({})
  const [complaints, setComplaints] = useState<Complaint[] | null>(null)
  const [checking, setChecking] = useState(true)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)
  const knowledge = useMemo(() => new Knowledge(), [])
  const run = useRef(0)

  useEffect(() => {
    const mine = ++run.current
    setChecking(true)
    const timer = setTimeout(() => {
      call<Shapes['Validation']>('POST', '/validate', { template: source.text() }).then((found) => {
        if (mine !== run.current) return
        setKnown(found.Parameters as Record<string, Parameter>)
        setComplaints([])
      }, (error: unknown) => {
        if (mine === run.current) setComplaints(error instanceof ApiError && error.status === 400 ? complaintsOf(error.message) : [])
        if (!(error instanceof ApiError) || error.status !== 400) setProblem(error)
      }).finally(() => mine === run.current && setChecking(false))
    }, PAUSE)
    return () => clearTimeout(timer)
  }, [source])

  const given = (): Record<string, string> => Object.fromEntries(Object.entries(values).filter(([key, value]) => value !== '' && key in known))
  const body = (): Record<string, unknown> => ({
    ...(path ? { existing: true } : { stack_name: stackName }), template: source.text(), parameters: given(), disable_rollback: !rollback,
    tags: tags.split(',').map((each) => each.trim()).filter(Boolean),
  })
  const attempt = (act: () => Promise<void>): void => {
    setBusy(true)
    setProblem(null)
    act().catch((error: unknown) => {
      setProblem(error)
      if (error instanceof ApiError && error.status === 400) setComplaints(complaintsOf(error.message).filter((each) => each.line > 1 || each.column > 1))
    }).finally(() => setBusy(false))
  }
  const plan = (): void => attempt(async () => {
    const made = await call<Shapes['OnePlan']>('POST', path ? `${path}/plans` : '/plans', body())
    go(to(['plan', made.plan.id]))
  })
  const apply = (): void => attempt(async () => {
    if (path) {
      await call('PATCH', path, body())
      go(to(['stack', name, id]))
    } else {
      const made = await call<Shapes['NewStack']>('POST', '/stacks', body())
      go(to(['stack', stackName, made.stack.id]))
    }
  })
  const ready = complaints?.length === 0 && !checking && !busy && stackName !== ''
  const parameters = Object.entries(known)
  const flags = Object.entries(given()).map(([key, value]) => ` --parameter ${quoted(`${key}=${known[key]?.NoEcho === 'true' ? '...' : value}`)}`).join('')
  const target = quoted(path ? name : stackName || 'NAME')
  const tagged = tags ? ` --tags ${quoted(tags)}` : ''
  const command = path ? `openstack stack update --existing -t template.yaml${flags}${tagged}${rollback ? ' --rollback enabled' : ''} ${target}`
    : `openstack stack create -t template.yaml${flags}${tagged}${rollback ? ' --enable-rollback' : ''} ${target}`

  return <Page title={path ? t('edit.title.update', { name }) : t('edit.title.new')}
    crumbs={path ? <a class="crumb" href={to(['stack', name, id])}>{name}</a> : <a class="crumb" href={to(['stacks'])}>{t('stacks.title')}</a>}
    actions={<><Act disabled={!ready} command={command} onClick={apply}>{t(path ? 'edit.update' : 'edit.create')}</Act><Act tone="primary" disabled={!ready} command={`openstack stack plan create${path ? ' --existing' : ''} -t template.yaml${flags}${rollback ? ' --rollback enabled' : ''} ${target}`} onClick={plan}>{t('edit.plan')}</Act></>}>
    {problem !== null && <Failure error={problem} />}
    <div class="edit">
      <section class="edit-main" aria-label={t('edit.template')}>
        <div class="edit-head"><h2>{t('edit.template')}</h2>
          <span class={`verdict ${checking ? '' : complaints?.length ? 'failed-text' : 'complete-text'}`} role="status">
            {checking ? t('edit.checking') : complaints?.length ? (complaints.length === 1 ? t('edit.invalid.one') : t('edit.invalid', { count: complaints.length })) : t('edit.valid')}</span></div>
        <Suspense fallback={<Loading />}><Editor value={template} change={(text) => setSource({ text })} complaints={complaints ?? []} knowledge={knowledge} label={t('edit.template')} /></Suspense>
        {complaints && complaints.length > 0 && <ul class="complaints">{complaints.map((each) => <li key={`${each.line}:${each.column}:${each.message}`}><code>{each.line}:{each.column}</code> {each.message}</li>)}</ul>}
        <p class="hint">{t('edit.template.hint')} {t('edit.fullscreen')}.</p>
      </section>
      <section class="edit-side card" aria-label={t('edit.parameters')}>
        {!path && <Field label={t('edit.name')}><input value={stackName} required pattern="[a-zA-Z][a-zA-Z0-9_.\-]{0,254}" onInput={(event) => setStackName(event.currentTarget.value)} /></Field>}
        <h2>{t('edit.parameters')}</h2>
        {path && <p class="hint">{t('edit.parameters.keep')}</p>}
        {parameters.length === 0 && <p class="soft">{t('edit.parameters.none')}</p>}
        {parameters.map(([key, each]) => <ParameterField key={key} name={key} parameter={each} knowledge={knowledge} value={values[key] ?? ''} kept={path ? detail?.parameters[key] ?? null : null} change={(value) => setValues((before) => ({ ...before, [key]: value }))} />)}
        <h2>{t('edit.options')}</h2>
        <Field label={t('edit.tags')} hint={t('edit.tags.hint')}><input value={tags} onInput={(event) => setTags(event.currentTarget.value)} /></Field>
        <label class="check"><input type="checkbox" checked={rollback} onChange={(event) => setRollback(event.currentTarget.checked)} />{t('edit.rollback')}</label>
        <Command text={command} />
      </section>
    </div>
  </Page>
}

function ParameterField({ name, parameter, knowledge, value, kept, change }: { name: string; parameter: Parameter; knowledge: Knowledge; value: string; kept: string | null; change: (value: string) => void }): JSX.Element {
  const constraint = parameter.Type === 'String' && parameter.NoEcho !== 'true' ? parameter.CustomConstraint : undefined
  const read = useLoad(async () => ({ list: constraint ? await knowledge.values(constraint) : null }), [constraint, knowledge]).value
  const listed = read?.list
  const fallback = kept ?? (parameter.Default === undefined ? '' : typeof parameter.Default === 'string' ? parameter.Default : JSON.stringify(parameter.Default))
  const hint = [parameter.Description, parameter.ConstraintDescription, parameter.CustomConstraint,
    parameter.MinValue !== undefined || parameter.MaxValue !== undefined ? `${parameter.MinValue ?? ''} … ${parameter.MaxValue ?? ''}` : '',
    listed?.unread ? t('edit.values.unread', { reason: listed.unread }) : '', listed && !listed.is_whole && !listed.unread ? t('edit.values.some', { count: listed.values.length }) : ''].filter(Boolean).join(' · ')
  const required = parameter.Default === undefined && kept === null
  const label = `${parameter.Label || name}${required ? ` (${t('edit.required')})` : ''}`
  const input = (event: { currentTarget: { value: string } }): void => change(event.currentTarget.value)
  const objects = listed?.values.map((each) => ({ value: writtenAs(each, listed.values), words: each.name && each.name !== writtenAs(each, listed.values) ? `${each.name} (${each.id})` : writtenAs(each, listed.values) }))
  const allowed = parameter.AllowedValues || parameter.Type === 'Boolean' ? (parameter.AllowedValues ?? [true, false]).map((each) => ({ value: String(each), words: String(each) }))
    : listed?.is_whole ? objects : undefined
  if (constraint && !read) {                    // not a field that a list would take the place of while somebody types
    return <Field label={label} hint={hint}><select disabled aria-busy="true"><option>{t('edit.values.reading')}</option></select></Field>
  }
  if (allowed) {
    return <Field label={label} hint={hint}><select value={value} required={required} onChange={input}>
      <option value="">{fallback || '—'}</option>{allowed.filter((each) => each.value !== fallback).map((each) => <option key={each.value} value={each.value}>{each.words}</option>)}
    </select></Field>
  }
  if (parameter.Type === 'Json' || parameter.Type === 'CommaDelimitedList') return <Field label={label} hint={hint}><textarea rows={3} value={value} placeholder={fallback} required={required} onInput={input} /></Field>
  const secret = parameter.NoEcho === 'true'
  const bounds = Object.entries({
    pattern: parameter.AllowedPattern, minLength: parameter.MinLength, maxLength: parameter.MaxLength, min: parameter.MinValue, max: parameter.MaxValue,
  }).filter(([, bound]) => bound !== undefined)
  const common = { autocomplete: 'off', value, required, onInput: input, ...Object.fromEntries(bounds) }
  if (secret) return <Field label={label} hint={hint}><input type="password" placeholder={fallback && '••••••'} {...common} /></Field>
  return <Field label={label} hint={hint}>{parameter.Type === 'Number'
    ? <input type="number" step="any" placeholder={fallback} {...common} />
    : <input type="text" placeholder={fallback} {...common} {...(objects?.length ? { list: `values-${name}` } : {})} />}
    {objects && objects.length > 0 && <datalist id={`values-${name}`}>{objects.map((each) => <option key={each.value} value={each.value}>{each.words}</option>)}</datalist>}</Field>
}
