/** Who is to blame for what in a failed action: pure, from the explanation, the resources and the events. */
import type { Explanation, Resource, StackEvent } from '../api/client'
import type { Tone } from '../parts/ui'

/** The last action of a stack: its events, oldest first, and the number of those before a rollback began. */
interface Past {
  events: StackEvent[]
  before: number
}

/** The events since the last action began that is no rollback. `newestFirst`: of the stack alone. */
export function pastOf(stackName: string, newestFirst: StackEvent[]): Past {
  const isOwn = (event: StackEvent): boolean => event.resource_name === stackName
  const first = newestFirst.findIndex((each) => isOwn(each) && each.resource_status.endsWith('_IN_PROGRESS') && !each.resource_status.startsWith('ROLLBACK'))
  const all = newestFirst.slice(0, first < 0 ? newestFirst.length : first).reverse()
  const rollback = all.findIndex((each) => isOwn(each) && each.resource_status === 'ROLLBACK_IN_PROGRESS')
  return { events: all.filter((each) => !isOwn(each)), before: rollback < 0 ? Infinity : all.slice(0, rollback).filter((each) => !isOwn(each)).length }
}

/** The resources of a stack, with those that a rollback has deleted again, as they were last. */
export function withDeleted(resources: Resource[], past: Past): Resource[] {
  const known = new Set(resources.map((each) => each.resource_name))
  const last = new Map(past.events.filter((each) => !known.has(each.resource_name)).map((each) => [each.resource_name, each]))
  return [...resources, ...[...last.values()].map((each): Resource => ({
    resource_name: each.resource_name, resource_type: '', resource_status: each.resource_status, resource_status_reason: each.resource_status_reason,
    physical_resource_id: each.physical_resource_id ?? '', logical_resource_id: each.resource_name, updated_time: each.event_time, creation_time: each.event_time,
    required_by: [], links: [],
  }))]
}

/**
 * The colour of each resource by its path, names with slashes between; others are `other`. A resource is the cause, and so
 * is what it is in; it was not started because of it; or it was rolled back.
 */
export function blameOf(found: Explanation, resources: Resource[], past: Past): Map<string, Tone> {
  const tones = new Map<string, Tone>()
  for (const name of past.events.slice(past.before).map((each) => each.resource_name)) tones.set(name, 'undone')
  const seen = new Set(past.events.map((each) => each.resource_name))
  const needing = new Map(resources.map((each) => [each.resource_name, each.required_by]))
  const left = found.causes.map((each) => each.path[0] ?? '')
  const reached = new Set(left)
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    for (const each of needing.get(name) ?? []) {
      if (reached.has(each)) continue
      reached.add(each)
      left.push(each)
      if (!seen.has(each)) tones.set(each, 'waiting')
    }
  }
  for (const path of found.not_started) tones.set(path.join('/'), 'waiting')
  for (const { path } of found.causes) path.forEach((_name, depth) => tones.set(path.slice(0, depth + 1).join('/'), 'failed'))
  return tones
}
