/** The resource types with their properties and attributes, and a template that uses one. */
import { dump } from 'js-yaml'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { get, type Shapes } from '../api/client'
import { t } from '../i18n'
import type { Schema } from '../parts/knowledge'
import { useLoad } from '../parts/load'
import { Command, Empty, Failure, Loading, Page, text } from '../parts/ui'
import { replace, to } from '../router'

/** The key under which a list, or a map with any keys, has the schema of each of its entries. */
const ENTRY = '*'

export function TypesPage({ chosen, query }: { chosen: string | undefined; query: URLSearchParams }): JSX.Element {
  const { value, error, again } = useLoad(() => get<Shapes['TypeList']>('/resource_types'), [])
  const words = query.get('q') ?? ''
  const names = useMemo(() => (value?.resource_types ?? []).map((each) => (typeof each === 'string' ? each : each.resource_type))
    .filter((name) => name.toLowerCase().includes(words.toLowerCase())), [value, words])
  return <Page title={t('types.title')}>
    {error !== null && <Failure error={error} retry={again} />}
    {!value && error === null && <Loading />}
    {value && <div class="split">
      <div class="list">
        <input type="search" aria-label={t('common.search')} placeholder={t('common.search')} value={words} onInput={(event) => replace(to(chosen ? ['types', chosen] : ['types'], { q: event.currentTarget.value }))} />
        <nav aria-label={t('types.title')} class="list-body">
          {names.map((name) => <a key={name} href={to(['types', name], { q: words })} aria-current={name === chosen ? 'page' : undefined}>{name}</a>)}
          {names.length === 0 && <p class="soft">{t('types.nomatch')}</p>}
        </nav>
      </div>
      {chosen ? <One key={chosen} name={chosen} /> : <Empty title={t('types.title')} text={t('types.hint')} />}
    </div>}
  </Page>
}

function One({ name }: { name: string }): JSX.Element {
  const { value, error } = useLoad(() => get<Shapes['TypeSchema']>(`/resource_types/${encodeURIComponent(name)}`), [name])
  const example = useLoad(() => get<Record<string, unknown>>(`/resource_types/${encodeURIComponent(name)}/template?template_type=hot`), [name])
  if (error !== null) return <Failure error={error} />
  if (!value) return <Loading />
  const properties = Object.entries(value.properties as Record<string, Schema>).sort(([, a], [, b]) => Number(b.required ?? false) - Number(a.required ?? false))
  const attributes = Object.entries(value.attributes as Record<string, Schema>)
  return <article class="detail">
    <h2>{name}</h2>
    {value.description && <p>{value.description}</p>}
    <Command text={`openstack orchestration resource type show ${name}`} />
    <h3>{t('types.properties')}</h3>
    {properties.length ? <Properties properties={properties} /> : <p class="soft">{t('common.none')}</p>}
    <h3>{t('types.attributes')}</h3>
    <dl class="names">{attributes.map(([key, each]) => <div key={key}><dt><code>{key}</code> <span class="soft">{each.type}</span></dt><dd>{each.description}</dd></div>)}</dl>
    {example.value && <><h3>{t('types.example')}</h3><pre class="code" tabIndex={0}>{dump(example.value, { lineWidth: 100, sortKeys: false })}</pre></>}
  </article>
}

/** The type, with that of its entries: list of map. */
function typeOf(schema: Schema): string {
  const entry = schema.schema?.[ENTRY]
  return entry ? t('types.entries', { type: schema.type, entry: typeOf(entry) }) : schema.type
}

function Properties({ properties }: { properties: [string, Schema][] }): JSX.Element {
  return <dl class="names">{properties.map(([key, each]) => <div key={key}>
    <dt><code>{key}</code> <span class="soft">{typeOf(each)}</span>
      {each.required && <span class="badge failed">{t('types.required')}</span>}
      <span class="badge">{t(each.update_allowed ? 'types.updatable' : 'types.replaces')}</span></dt>
    <dd><Details schema={each} /></dd>
  </div>)}</dl>
}

/** What a schema says, and below it what it says of its entries or of its keys. */
function Details({ schema }: { schema: Schema }): JSX.Element {
  const entry = schema.schema?.[ENTRY]
  return <>
    {schema.description}
    {schema.default !== undefined && schema.default !== null && <span class="soft block">{t('types.default')}: <code>{text(schema.default)}</code></span>}
    {schema.constraints && schema.constraints.length > 0 && <span class="soft block">{t('types.constraints')}: <code>{schema.constraints.map((one) => JSON.stringify(one)).join(' ')}</code></span>}
    {entry && <div><span class="soft">{t('types.entry')}:</span> <Details schema={entry} /></div>}
    {schema.schema && !entry && <details><summary>{t('types.properties')}</summary><Properties properties={Object.entries(schema.schema)} /></details>}
  </>
}
