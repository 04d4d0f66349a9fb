/** One stack: its graph, what happens, why it failed, and everything that it has. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, call, get, stackPath, type Progress, type Resource, type Shapes, type StackDetail } from '../api/client'
import { listen, type LiveEvent } from '../api/stream'
import { Graph, nestedOf } from '../graph/Graph'
import type { Level } from '../graph/layout'
import { ago, span, t, when } from '../i18n'
import { useCalm, useEvery, useLoad } from '../parts/load'
import { Rows, type Column } from '../parts/rows'
import { Act, Button, Command, Confirm, Empty, Facts, Failure, Loading, Page, quoted, State, Tabs, text, toneOf } from '../parts/ui'
import { go, replace, to } from '../router'
import { mayChange } from '../session'
import { Drift } from './drift'
import { Failed } from './failure'
import { Guards } from './guards'
import { Revisions } from './revisions'
import { Live } from './stacks'
import { Template, writtenAt } from './template'
import { Timeline } from './timeline'

/** Names from the stack `rootId` down to a resource of the loaded stack `stackId`. */
function pathOf(levels: Map<string, Level>, rootId: string, name: string, stackId: string): string[] {
  if (stackId === rootId) return [name]
  for (const level of levels.values()) {
    const above = level.resources.find((each) => nestedOf(each)?.id === stackId)
    if (above) return [...pathOf(levels, rootId, above.resource_name, level.stackId), name]
  }
  return [name]
}

/** Gives resources the states of events, oldest first. Returns the events of resources that are not loaded. */
function apply(levels: Map<string, Level>, events: LiveEvent[]): LiveEvent[] {
  const unknown: LiveEvent[] = []
  for (const [stackId, level] of levels) {
    const own = events.filter((each) => each.stack_id === stackId)
    if (!own.length) continue
    const resources = [...level.resources]
    const places = new Map(resources.map((each, place) => [each.resource_name, place]))
    for (const event of own) {
      const place = places.get(event.resource_name)
      const before = place === undefined ? undefined : resources[place]
      if (place === undefined || !before) {
        unknown.push(event)
        continue
      }
      resources[place] = {
        ...before, resource_status: event.resource_status, resource_status_reason: event.resource_status_reason,
        physical_resource_id: event.physical_resource_id ?? before.physical_resource_id, updated_time: event.event_time,
      }
    }
    levels.set(stackId, { ...level, resources })
  }
  return [...unknown, ...events.filter((each) => !levels.has(each.stack_id))]
}

const TABS = ['graph', 'failure', 'timeline', 'resources', 'events', 'outputs', 'template', 'revisions', 'drift', 'guards'] as const
const MOST_EVENTS = 2000
const EVENTS_AT_ONCE = 1000

export function StackPage({ name, id, tab, query }: { name: string; id: string; tab: string; query: URLSearchParams }): JSX.Element {
  const path = stackPath(name, id)
  const stack = useLoad(() => get<Shapes['OneStack']>(path), [path])
  const progress = useLoad(() => get<Shapes['OneProgress']>(`${path}/progress`), [path])
  const levels = useRef(new Map<string, Level>())
  const [version, setVersion] = useState(0)
  const [error, setError] = useState<unknown>(null)
  const [live, setLive] = useState(false)
  const [events, setEvents] = useState<LiveEvent[]>([])
  const [chosen, setChosen] = useState<{ key: string; stackId: string; name: string } | null>(null)
  const [asking, setAsking] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)

  const load = (level: Level): void => {
    levels.current.set(level.stackId, level)
    setVersion((before) => before + 1)
  }
  const loadResources = (): void => void get<Shapes['ResourceList']>(`${path}/resources`).then((found) => {
    load({ stackId: id, resources: found.resources })
    setError(null)
  }, setError)
  const calmResources = useCalm(loadResources, 1500)
  const calmStack = useCalm(() => {
    stack.again()
    progress.again()
  }, 700)

  useEffect(() => {
    let isUp = false
    const end = listen(`${path}/events/stream`, (found) => {
      setEvents((before) => [...[...found].reverse(), ...before].slice(0, MOST_EVENTS))
      calmStack()
      const unknown = apply(levels.current, found)
      if (unknown.length < found.length) setVersion((each) => each + 1)
      if (found.some((each) => each.stack_id === id && (each.resource_name === name || unknown.includes(each)))) calmResources()
    }, (isLive) => {
      setLive(isLive)
      if (isLive && !isUp) {
        loadResources()
        calmStack()
      }
      isUp = isLive
    })
    loadResources()
    return end
  }, [path])

  const found = stack.value?.stack
  const isRunning = found?.stack_status.endsWith('IN_PROGRESS') ?? false
  useEvery(() => {
    if (isRunning) progress.again()
    if (!live) {
      loadResources()
      calmStack()
    }
  }, 5000)

  if (stack.error instanceof ApiError && stack.error.status === 404) {
    return <Empty title={name} text={t('stack.gone')}><a class="button" href={to(['stacks'])}>{t('nav.stacks')}</a></Empty>
  }
  if (!found) return stack.error !== null ? <Failure error={stack.error} retry={stack.again} /> : <Loading />

  const act = (action: string): void => void call('POST', `${path}/actions`, { [action]: null }).then(() => setProblem(null), setProblem)
  const address = (each: string): string => to(['stack', name, id, ...(each === 'graph' ? [] : [each])])
  const resources = levels.current.get(id)?.resources ?? []
  const marked = chosen && levels.current.get(chosen.stackId)?.resources.find((each) => each.resource_name === chosen.name)
  const tone = toneOf(found.stack_status)

  return <Page title={<>{found.stack_name} <State status={found.stack_status} /></>}
    crumbs={<a class="crumb" href={to(['stacks'])}>{t('stacks.title')}</a>}
    actions={<>
      <Live live={live} />
      {mayChange() && !found.deletion_time && <>
        {!found.parent && <a class="button" href={to(['stack', name, id, 'update'])}>{t('action.update')}</a>}
        {isRunning && found.stack_status.startsWith('UPDATE') && <Act command={`openstack stack cancel ${quoted(name)}`} onClick={() => act('cancel_update')}>{t('action.cancel')}</Act>}
        {!isRunning && <details class="menu"><summary class="button">{t('action.more')}</summary><div>
          <Act tone="quiet" command={`openstack stack check ${quoted(name)}`} onClick={() => act('check')}>{t('action.check')}</Act>
          <Act tone="quiet" command={`openstack stack suspend ${quoted(name)}`} onClick={() => act('suspend')}>{t('action.suspend')}</Act>
          <Act tone="quiet" command={`openstack stack resume ${quoted(name)}`} onClick={() => act('resume')}>{t('action.resume')}</Act>
        </div></details>}
        <Act tone="danger" command={`openstack stack delete --yes ${quoted(name)}`} onClick={() => setAsking(true)}>{t('action.delete')}</Act>
      </>}
    </>}>
    {problem !== null && <Failure error={problem} />}
    {found.stack_status_reason && tone === 'failed' && tab !== 'failure' && <div class="notice failed reason">
      <div><strong>{t('stack.failed.banner')}</strong><p>{found.stack_status_reason}</p></div>
      <a class="button" href={address('failure')}>{t('stack.tab.failure')}</a>
    </div>}
    {isRunning && progress.value && <Bar progress={progress.value.progress} />}
    <Tabs label={t('stack.tabs')} current={tab} address={address}
      tabs={TABS.map((each) => ({ id: each, text: t(`stack.tab.${each}`), ...(each === 'failure' && tone === 'failed' ? { mark: 'failed' as const } : {}) }))} />
    {error !== null && <Failure error={error} retry={loadResources} />}
    {tab === 'graph' && levels.current.has(id) && <div class={`with-side ${marked ? 'open' : ''}`}>
      <Graph rootId={id} levels={levels.current} version={version} load={load} chosen={chosen?.key ?? null}
        choose={(box) => setChosen(box && { key: box.key, stackId: box.stackId, name: box.resource.resource_name })} />
      {marked && <ResourcePanel resource={marked} stack={found} path={pathOf(levels.current, id, marked.resource_name, chosen.stackId)} close={() => setChosen(null)} />}
    </div>}
    {tab === 'failure' && <Failed path={path} name={name} id={id} version={events[0]?.id ?? ''}
      graph={{ levels: levels.current, version, load, pathOf: (stackId, each) => pathOf(levels.current, id, each, stackId) }} />}
    {tab === 'timeline' && <Timeline path={path} name={name} version={events[0]?.id ?? ''} running={isRunning} />}
    {tab === 'resources' && <Resources stack={found} resources={resources} words={query.get('q') ?? ''} address={address('resources')} />}
    {tab === 'events' && <Events path={path} live={events} />}
    {tab === 'outputs' && <Outputs stack={found} />}
    {tab === 'template' && <Template path={path} stack={found} chosen={query.get('resource') ?? ''} />}
    {tab === 'revisions' && <Revisions path={path} name={name} id={id} chosen={query.get('revision')} />}
    {tab === 'drift' && <Drift path={path} name={name} />}
    {tab === 'guards' && <Guards path={path} name={name} />}
    {asking && <Confirm title={t('action.delete.confirm', { name })} text={t('action.delete.text')} label={t('action.delete')} command={`openstack stack delete --yes ${quoted(name)}`}
      act={() => call<null>('DELETE', path).then(() => go(to(['stacks'])))} close={() => setAsking(false)} />}
  </Page>
}

function Bar({ progress }: { progress: Progress }): JSX.Element {
  const sum = (of: (level: Progress['levels'][number]) => number): number => progress.levels.reduce((total, level) => total + of(level), 0)
  const total = Math.max(1, sum((each) => each.total))
  const done = sum((each) => each.complete)
  return <div class="progress-box">
    <div class="progress" role="progressbar" aria-label={t('stacks.status.running')} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done}>
      <span class="complete" style={{ width: `${(done / total) * 100}%` }} />
      <span class="running" style={{ width: `${(sum((each) => each.in_progress) / total) * 100}%` }} />
      <span class="failed" style={{ width: `${(sum((each) => each.failed) / total) * 100}%` }} />
    </div>
    <span>{t('stack.progress', { done, total })}</span>
    <span class="soft">{span(progress.seconds)}{progress.seconds_left !== null && ` · ${t('stack.left', { time: span(progress.seconds_left) })}`}</span>
    {progress.waiting_for[0] && <span class="soft">{progress.waiting_for[0].path.join(' / ')} ({progress.waiting_for[0].type})</span>}
  </div>
}

function ResourcePanel({ resource, stack, path, close }: { resource: Resource; stack: StackDetail; path: string[]; close: () => void }): JSX.Element {
  const link = resource.links.find((each) => each.rel === 'self')?.href ?? ''
  const own = /\/stacks\/.*/.exec(link)?.[0] ?? ''
  const { value } = useLoad(() => get<Shapes['OneResource']>(own), [own, resource.updated_time])
  const nested = nestedOf(resource)
  const attributes = Object.entries(value?.resource.attributes ?? {})
  return <aside class="panel" aria-label={t('resource.title', { name: resource.resource_name })}>
    <div class="panel-head"><h2>{resource.resource_name}</h2><Button tone="quiet" onClick={close} aria-label={t('common.close')}>✕</Button></div>
    <State status={resource.resource_status} />
    {resource.resource_status_reason && <p class={toneOf(resource.resource_status) === 'failed' ? 'pre failed-text' : 'soft'}>{resource.resource_status_reason}</p>}
    <Facts facts={[
      [t('common.type'), <a href={to(['types', resource.resource_type])}>{resource.resource_type}</a>],
      [t('resources.physical'), <code>{resource.physical_resource_id || '—'}</code>],
      [t('stack.updated'), <time title={when(resource.updated_time)}>{ago(resource.updated_time)}</time>],
      [t('resources.needs'), resource.required_by.join(', ') || t('common.none')],
    ]} />
    <p class="actions">{nested && <a class="button" href={to(['stack', nested.name, nested.id])}>{t('resources.open')}</a>}
      <a class="button" href={writtenAt(stack.stack_name, stack.id, path)}>{t('resources.written')}</a></p>
    {attributes.length > 0 && <details open><summary>{t('resource.attributes')}</summary><dl class="names">{attributes.slice(0, 60).map(([key, each]) => <div key={key}><dt><code>{key}</code></dt><dd><pre>{text(each)}</pre></dd></div>)}</dl></details>}
    <Command text={`openstack stack resource show ${quoted(stack.stack_name)} ${quoted(resource.resource_name)}`} />
  </aside>
}

function Resources({ stack, resources, words, address }: { stack: StackDetail; resources: Resource[]; words: string; address: string }): JSX.Element {
  const shown = useMemo(() => resources.filter((each) => `${each.resource_name} ${each.resource_type} ${each.resource_status} ${each.physical_resource_id}`.toLowerCase().includes(words.toLowerCase())), [resources, words])
  const columns: Column<Resource>[] = [
    { id: 'name', head: t('common.name'), width: 'minmax(8rem, 1.4fr)', cell: (each) => {
      const nested = nestedOf(each)
      return nested ? <a class="strong" href={to(['stack', nested.name, nested.id])}>{each.resource_name}</a> : <strong>{each.resource_name}</strong>
    } },
    { id: 'type', head: t('common.type'), width: 'minmax(9rem, 1.4fr)', cell: (each) => <a href={to(['types', each.resource_type])}>{each.resource_type}</a> },
    { id: 'state', head: t('common.status'), width: 'minmax(9rem, 1fr)', cell: (each) => <State status={each.resource_status} /> },
    { id: 'physical', head: t('resources.physical'), width: 'minmax(9rem, 1.6fr)', cell: (each) => <code title={each.physical_resource_id}>{each.physical_resource_id}</code> },
    { id: 'changed', head: t('stacks.changed'), width: '8rem', cell: (each) => <time title={when(each.updated_time)}>{ago(each.updated_time)}</time> },
    { id: 'written', head: t('template.title'), width: '6rem', cell: (each) => <a href={writtenAt(stack.stack_name, stack.id, [each.resource_name])} aria-label={`${t('resources.written')}: ${each.resource_name}`}>{t('resources.lines')}</a> },
  ]
  if (!resources.length) return <Empty title={t('resources.empty')} text="" />
  return <>
    <div class="bar"><input type="search" aria-label={t('common.search')} placeholder={t('common.search')} value={words} onInput={(event) => replace(`${address}?${new URLSearchParams({ q: event.currentTarget.value })}`)} />
      <span class="soft">{t('stacks.count', { shown: shown.length, count: resources.length })}</span></div>
    <Rows label={t('stack.tab.resources')} rows={shown} columns={columns} id={(each) => each.resource_name} height="calc(100vh - 300px)" />
  </>
}

function Events({ path, live }: { path: string; live: LiveEvent[] }): JSX.Element {
  const [older, setOlder] = useState<Shapes['Event'][] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const asked = useRef('')
  const isWhole = useRef(false)
  // The next page, once for each event that is the last one now.
  const load = (): void => {
    const marker = older?.at(-1)?.id ?? 'first'
    if (isWhole.current || asked.current === marker) return
    asked.current = marker
    get<Shapes['EventList']>(`${path}/events?limit=${EVENTS_AT_ONCE}&sort_keys=event_time&sort_dir=desc&nested_depth=5${older ? `&marker=${marker}` : ''}`).then(({ events }) => {
      isWhole.current = events.length < EVENTS_AT_ONCE
      setOlder([...(older ?? []), ...events])
    }, setError)
  }
  useEffect(load, [path])
  const shown = useMemo(() => {
    const known = new Set(live.map((each) => each.id))
    return [...live, ...(older ?? []).filter((each) => !known.has(each.id))]
  }, [older, live])
  const columns: Column<Shapes['Event']>[] = [
    { id: 'time', head: t('common.time'), width: '13rem', cell: (each) => when(each.event_time) },
    { id: 'name', head: t('common.name'), width: 'minmax(8rem, 1.2fr)', cell: (each) => <strong>{each.resource_name}</strong> },
    { id: 'state', head: t('common.status'), width: 'minmax(9rem, 1fr)', cell: (each) => <State status={each.resource_status} /> },
    { id: 'reason', head: t('common.reason'), width: 'minmax(9rem, 2.4fr)', cell: (each) => <span title={each.resource_status_reason ?? ''}>{each.resource_status_reason}</span> },
  ]
  if (error !== null) return <Failure error={error} />
  if (!older) return <Loading />
  return shown.length ? <Rows label={t('stack.tab.events')} rows={shown} columns={columns} id={(each) => each.id} height="calc(100vh - 250px)" reached={load} /> : <Empty title={t('events.empty')} text="" />
}

function Outputs({ stack }: { stack: StackDetail }): JSX.Element {
  const outputs = stack.outputs ?? []
  return <>
    {outputs.length === 0 && <Empty title={t('outputs.empty.title')} text={t('outputs.empty.text')} />}
    {outputs.length > 0 && <dl class="names card">{outputs.map((each) => <div key={each.output_key}>
      <dt><strong>{each.output_key}</strong> <span class="soft">{each.description}</span></dt>
      <dd>{each.output_error ? <span class="failed-text">{t('outputs.error', { error: each.output_error })}</span> : <pre>{text(each.output_value)}</pre>}
        <Command text={`openstack stack output show ${quoted(stack.stack_name)} ${quoted(each.output_key)}`} /></dd>
    </div>)}</dl>}
    <h2>{t('parameters.title')}</h2>
    <dl class="names card">{Object.entries(stack.parameters).map(([key, each]) => <div key={key}><dt><code>{key}</code></dt><dd><pre>{text(each)}</pre></dd></div>)}</dl>
  </>
}
