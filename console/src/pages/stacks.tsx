/** All stacks of the project: filtered, chosen, acted on; changes arrive by themselves. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { allStacks, call, stackPath, type StackSummary } from '../api/client'
import { listen } from '../api/stream'
import { ago, t, when } from '../i18n'
import { useCalm } from '../parts/load'
import { Rows, type Column } from '../parts/rows'
import { Act, Button, Confirm, Empty, Failure, Loading, Page, quoted, State, toneOf, wordsOf } from '../parts/ui'
import { replace, to } from '../router'
import { mayChange } from '../session'

const ACTIONS = ['check', 'suspend', 'resume'] as const
const AT_ONCE = 6
const MOST_SHOWN = 600                  // characters of a command

export function useStacks(): { stacks: StackSummary[] | null; error: unknown; live: boolean; again: () => void } {
  const [stacks, setStacks] = useState<StackSummary[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [live, setLive] = useState(false)
  const load = (): void => void allStacks(setStacks).then(() => setError(null), setError)
  const again = useCalm(load, 400)
  useEffect(() => {
    let isUp = false
    const end = listen('/events/stream', (events) => {
      const own = new Map(events.filter((each) => each.resource_name === each.stack_name).map((each) => [each.stack_id, each]))
      if (!own.size) return
      setStacks((before) => before?.map((each) => {
        const event = own.get(each.id)
        return event ? { ...each, stack_status: event.resource_status, stack_status_reason: event.resource_status_reason } : each
      }) ?? null)
      if ([...own.values()].some((each) => /^(CREATE|ADOPT)_IN|_COMPLETE$|_FAILED$/.test(each.resource_status))) again()
    }, (isLive) => {
      setLive(isLive)
      if (isLive && !isUp) again()
      isUp = isLive
    })
    load()
    return end
  }, [])
  return { stacks, error, live, again }
}

export function Live({ live }: { live: boolean }): JSX.Element {
  return <span class={`live ${live ? 'on' : ''}`} title={t(live ? 'live.on.hint' : 'live.off.hint')}><span class="dot" aria-hidden="true" />{t(live ? 'live.on' : 'live.off')}</span>
}

const texts = new WeakMap<StackSummary, string>()

/** What the words of a filter are looked for in; made once for each stack, not with each key. */
function searched(stack: StackSummary): string {
  const known = texts.get(stack)
  if (known !== undefined) return known
  const made = [stack.stack_name, stack.id, stack.stack_owner, ...(stack.tags ?? [])].join(' ').toLowerCase()
  texts.set(stack, made)
  return made
}

export function Stacks({ query }: { query: URLSearchParams }): JSX.Element {
  const { stacks, error, live, again } = useStacks()
  const [chosen, setChosen] = useState<Set<string>>(new Set())
  const [asking, setAsking] = useState(false)
  const [notes, setNotes] = useState<string[]>([])
  const words = query.get('q') ?? ''
  const state = query.get('state') ?? ''
  const filter = (next: { q?: string; state?: string }): void => replace(to(['stacks'], { q: words, state, ...next }))

  const shown = useMemo(() => {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean)
    return (stacks ?? []).filter((each) => {
      if (state && toneOf(each.stack_status) !== state) return false
      return !parts.length || parts.every((part) => searched(each).includes(part))
    })
  }, [stacks, words, state])
  const acted = chosen.size ? shown.filter((each) => chosen.has(each.id)) : []
  const bulk = (action: string): string => `openstack stack ${action} ${acted.map((each) => quoted(each.stack_name)).join(' ')}`
  const shortened = (command: string): string => (command.length > MOST_SHOWN ? `${command.slice(0, MOST_SHOWN)}…` : command)

  const onMany = async (act: (stack: StackSummary) => Promise<unknown>): Promise<void> => {
    const left = [...acted]
    const problems: string[] = []
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let stack = left.pop(); stack; stack = left.pop()) {
        await act(stack).catch((problem: unknown) => problems.push(t('action.failed', { name: stack?.stack_name ?? '', error: wordsOf(problem) })))
      }
    }))
    setNotes(problems)
    setChosen(new Set())
    again()
  }

  const columns: Column<StackSummary>[] = [
    ...(mayChange() ? [{
      id: 'choose', width: '44px',
      head: <input type="checkbox" aria-label={t('stacks.select.all')} checked={shown.length > 0 && acted.length === shown.length}
        onChange={(event) => setChosen(new Set(event.currentTarget.checked ? shown.map((each) => each.id) : []))} />,
      cell: (each: StackSummary) => <input type="checkbox" aria-label={t('stacks.select', { name: each.stack_name })} checked={chosen.has(each.id)}
        onChange={(event) => {
          const next = new Set(chosen)
          if (event.currentTarget.checked) next.add(each.id)
          else next.delete(each.id)
          setChosen(next)
        }} />,
    }] : []),
    { id: 'name', head: t('common.name'), width: 'minmax(10rem, 2.2fr)', cell: (each) => <a class="strong" href={to(['stack', each.stack_name, each.id])}>{each.stack_name}</a> },
    { id: 'state', head: t('common.status'), width: 'minmax(9rem, 1.2fr)', cell: (each) => <State status={each.stack_status} /> },
    { id: 'tags', head: t('stacks.tags'), width: 'minmax(6rem, 1.4fr)', cell: (each) => <>{(each.tags ?? []).map((tag) => <span class="tag" key={tag}>{tag}</span>)}</> },
    { id: 'owner', head: t('stacks.owner'), width: 'minmax(5rem, 1fr)', cell: (each) => each.stack_owner ?? '' },
    { id: 'changed', head: t('stacks.changed'), width: 'minmax(7rem, .8fr)', cell: (each) => <time title={when(each.updated_time ?? each.creation_time)}>{ago(each.updated_time ?? each.creation_time)}</time> },
  ]

  return <Page title={t('stacks.title')} actions={<><Live live={live} />{mayChange() && <a class="button primary" href={to(['stacks', 'new'])}>{t('stacks.new')}</a>}</>}>
    <div class="bar">
      <input type="search" aria-label={t('common.search')} placeholder={t('stacks.filter.hint')} value={words} onInput={(event) => filter({ q: event.currentTarget.value })} />
      <select aria-label={t('common.status')} value={state} onChange={(event) => filter({ state: event.currentTarget.value })}>
        <option value="">{t('stacks.status.all')}</option>
        {(['running', 'failed', 'complete'] as const).map((each) => <option key={each} value={each}>{t(`stacks.status.${each}`)}</option>)}
      </select>
      <span class="soft" role="status">{stacks && t('stacks.count', { shown: shown.length, count: stacks.length })}</span>
      {acted.length > 0 && <span class="bulk">
        <strong>{t('stacks.selected', { count: acted.length })}</strong>
        {ACTIONS.map((action) => <Act key={action} command={shortened(bulk(action))} filled={() => bulk(action)} onClick={() => void onMany((stack) => call('POST', `${stackPath(stack.stack_name, stack.id)}/actions`, { [action]: null }))}>{t(`action.${action}`)}</Act>)}
        <Act tone="danger" command={shortened(bulk('delete --yes'))} filled={() => bulk('delete --yes')} onClick={() => setAsking(true)}>{t('action.delete')}</Act>
      </span>}
    </div>
    {notes.length > 0 && <div class="notice failed" role="alert">{notes.map((note) => <p key={note}>{note}</p>)}<Button onClick={() => setNotes([])}>{t('common.close')}</Button></div>}
    {error !== null && <Failure error={error} retry={again} />}
    {!stacks && error === null && <Loading />}
    {stacks?.length === 0 && <Empty title={t('stacks.empty.title')} text={t('stacks.empty.text')}>
      {mayChange() && <a class="button primary" href={to(['stacks', 'new'])}>{t('stacks.new')}</a>}
    </Empty>}
    {stacks && stacks.length > 0 && shown.length === 0 && <Empty title={t('stacks.nomatch.title')} text={t('stacks.nomatch.text')} />}
    {shown.length > 0 && <Rows label={t('stacks.title')} rows={shown} columns={columns} id={(each) => each.id} height="calc(100vh - 190px)" />}
    {asking && <Confirm title={t('action.delete.confirm.many', { count: acted.length })} text={t('action.delete.text')} label={t('action.delete.many', { count: acted.length })}
      command={shortened(bulk('delete --yes'))}
      act={() => onMany((stack) => call('DELETE', stackPath(stack.stack_name, stack.id)))} close={() => setAsking(false)} />}
  </Page>
}
