/** The template of a stack, or the file in which a resource below it is written, with the lines of the resource marked. */
import { dump } from 'js-yaml'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { get, type Shapes, type StackDetail } from '../api/client'
import { t, when } from '../i18n'
import { blockAt, linesAt, type Lines } from '../parts/lines'
import { useLoad } from '../parts/load'
import { Command, Facts, Failure, Loading, quoted, wordsOf } from '../parts/ui'
import { to } from '../router'

type Place = Shapes['WrittenAt']

const FIRST = ['heat_template_version', 'AWSTemplateFormatVersion', 'HeatTemplateFormatVersion', 'description', 'parameters', 'type']
const RESOURCES = ['resources', 'Resources']
const PROPERTIES = ['properties', 'Properties']

function order(a: string, b: string): number {
  const rank = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  return rank(a) - rank(b)
}

/** The address of the place where a resource is written. `path`: names from the stack down. */
export function writtenAt(name: string, id: string, path: string[]): string {
  return to(['stack', name, id, 'template'], { resource: path.map(encodeURIComponent).join('/') })
}

/** `chosen`: the path of a resource as `writtenAt` writes it, or empty. */
export function Template({ path, stack, chosen }: { path: string; stack: StackDetail; chosen: string }): JSX.Element {
  const template = useLoad(() => get<Record<string, unknown>>(`${path}/template`), [path, stack.updated_time])
  const environment = useLoad(() => get<Record<string, unknown>>(`${path}/environment`), [path, stack.updated_time])
  const place = useLoad(async () => (chosen ? (await get<Shapes['ResourceExplanation']>(`${path}/resources/${chosen}/explain`)).explanation.place : null), [path, chosen, stack.updated_time])
  if (template.error !== null) return <Failure error={template.error} />
  if (!template.value) return <Loading />
  const name = chosen.split('/').map(decodeURIComponent).join(' / ')
  return <>
    <Facts facts={[[t('stack.id'), <code>{stack.id}</code>], [t('stack.owner'), stack.stack_owner ?? '—'], [t('stack.created'), when(stack.creation_time)], [t('stack.updated'), when(stack.updated_time) || '—'], [t('stacks.tags'), stack.tags.join(', ') || '—']]} />
    {chosen && <p class="notice waiting"><span>{t('template.marked', { name })}</span> <a href={to(['stack', stack.stack_name, stack.id, 'template'])}>{t('template.unmark')}</a></p>}
    {place.error !== null && <Failure error={place.error} />}
    {place.value?.file
      ? <File path={path} stack={stack} place={place.value} file={place.value.file} />
      : <Own document={template.value} stack={stack} name={place.value ? nameIn(place.value, chosen) : null} />}
    {environment.value && <><h2>{t('environment.title')}</h2><pre class="code" tabIndex={0}>{dump(environment.value, { lineWidth: 110 })}</pre></>}
    {environment.error !== null && <p class="soft">{wordsOf(environment.error)}</p>}
  </>
}

/** Of a resource in a group, the group is what is written here: its name is the first of the path. */
function nameIn(place: Place, chosen: string): { name: string; property: string | null } {
  const name = decodeURIComponent(chosen.split('/')[0] ?? '')
  const rest = RESOURCES.map((each) => `${each}.${name}.`).find((each) => place.path?.startsWith(each))
  const property = rest ? place.path?.slice(rest.length).split('.')[1] ?? null : null
  return { name, property }
}

function Own({ document, stack, name }: { document: Record<string, unknown>; stack: StackDetail; name: { name: string; property: string | null } | null }): JSX.Element {
  const text = useMemo(() => dump(document, { lineWidth: 110, sortKeys: order }), [document])
  const marked = useMemo(() => {
    if (!name) return null
    const lines = text.split('\n')
    const find = (trail: string[]): Lines | null => linesAt(lines, document, trail, (keys) => [...keys].sort(order))
    for (const section of RESOURCES) {
      const property = name.property === null ? null : PROPERTIES.map((each) => find([section, name.name, each, name.property ?? ''])).find(Boolean)
      const found = property ?? find([section, name.name])
      if (found) return found
    }
    return null
  }, [text, name?.name, name?.property])
  return <>
    <h2>{t('template.title')}</h2>
    <p class="soft">{t('template.note')}</p>
    <Command text={`openstack stack template show ${quoted(stack.stack_name)}`} />
    <Code text={text} marked={marked} />
  </>
}

function File({ path, stack, place, file }: { path: string; stack: StackDetail; place: Place; file: string }): JSX.Element {
  const { value, error } = useLoad(() => get<Record<string, string>>(`${path}/files`), [path, stack.updated_time])
  const text = value?.[file]
  const marked = useMemo(() => (text === undefined || place.line === null ? null : blockAt(text.split('\n'), place.line - 1)), [text, place.line])
  if (error !== null) return <Failure error={error} />
  if (text === undefined) return <Loading />
  return <>
    <h2>{t('template.file', { file })}</h2>
    <Command text={`openstack stack file list ${quoted(stack.stack_name)}`} />
    <Code text={text} marked={marked} />
  </>
}

/** A text in three parts: 5 MB are three nodes, whatever is marked. */
function Code({ text, marked }: { text: string; marked: Lines | null }): JSX.Element {
  const mark = useRef<HTMLElement>(null)
  useEffect(() => mark.current?.scrollIntoView({ block: 'center' }), [text, marked?.first])
  if (!marked) return <pre class="code" tabIndex={0}>{text}</pre>
  const lines = text.split('\n')
  const part = (from: number, until: number): string => lines.slice(from, until).map((line) => `${line}\n`).join('')
  return <pre class="code" tabIndex={0}>{part(0, marked.first)}<mark ref={mark} aria-label={t('template.lines', { first: marked.first + 1, last: marked.end })}>{part(marked.first, marked.end)}</mark>{part(marked.end, lines.length)}</pre>
}
