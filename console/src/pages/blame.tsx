/** The graph of a stack whose last action failed, in colours that say who is to blame. */
import type { JSX } from 'preact'
import { useCallback, useMemo, useState } from 'preact/hooks'
import { get, type Explanation, type Shapes } from '../api/client'
import { blameOf, pastOf, withDeleted } from '../graph/blame'
import { Graph } from '../graph/Graph'
import type { Box, Level, ToneAt } from '../graph/layout'
import { t } from '../i18n'
import { useLoad } from '../parts/load'
import { Failure, Loading, type Tone } from '../parts/ui'
import type { Key } from '../texts/en'
import { writtenAt } from './template'

const LEGEND: [Tone, Key][] = [['failed', 'blame.cause'], ['waiting', 'blame.waiting'], ['undone', 'blame.undone'], ['other', 'blame.other']]

/** `pathOf`: the names from this stack down to a resource of a loaded stack. */
export function Blame({ path, name, id, found, levels, version, load, pathOf }: {
  path: string; name: string; id: string; found: Explanation; levels: Map<string, Level>; version: number; load: (level: Level) => void
  pathOf: (stackId: string, name: string) => string[]
}): JSX.Element {
  const { value, error } = useLoad(() => get<Shapes['EventList']>(`${path}/events?limit=1000&sort_keys=event_time&sort_dir=desc`), [path, found])
  const [chosen, setChosen] = useState<Box | null>(null)
  const past = useMemo(() => pastOf(name, value?.events ?? []), [value, name])
  const own = levels.get(id)?.resources
  const shown = useMemo(() => new Map(levels).set(id, { stackId: id, resources: withDeleted(own ?? [], past) }), [version, own, past])
  const tones = useMemo(() => blameOf(found, shown.get(id)?.resources ?? [], past), [found, shown, past])
  const toneAt = useCallback<ToneAt>((stackId, resource) => tones.get(pathOf(stackId, resource.resource_name).join('/')) ?? 'other', [tones])
  if (error !== null) return <Failure error={error} />
  if (!value || !own) return <Loading />
  const tone = chosen && toneAt(chosen.stackId, chosen.resource)
  return <section aria-label={t('blame.title')}>
    <h2>{t('blame.title')}</h2>
    <div class="blame"><Graph rootId={id} levels={shown} version={version} load={load} choose={setChosen} chosen={chosen?.key ?? null} toneAt={toneAt} legend={LEGEND} isPart /></div>
    {chosen && tone && <p role="status"><strong>{chosen.resource.resource_name}</strong>: {t(LEGEND.find(([each]) => each === tone)?.[1] ?? 'blame.other')}
      {chosen.resource.resource_status_reason && <span class="soft"> {chosen.resource.resource_status_reason}</span>} <a href={writtenAt(name, id, pathOf(chosen.stackId, chosen.resource.resource_name))}>{t('resources.written')}</a></p>}
  </section>
}
