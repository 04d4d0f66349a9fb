/** Requests of the public REST API, typed by its own description. */
import { expire, session } from '../session'
import type { components } from './openapi'

export type Shapes = components['schemas']
export type StackSummary = Shapes['StackSummary']
export type StackDetail = Shapes['StackDetail']
export type Resource = Shapes['Resource']
export type StackEvent = Shapes['Event']
export type Plan = Shapes['Plan']
export type PlanSummary = Shapes['PlanSummary']
export type Explanation = Shapes['OneExplanation']['explanation']
export type Progress = Shapes['OneProgress']['progress']

/** An answer that is no success. `message`: the service's words. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly type: string, message: string) {
    super(message)
  }
}

/** The URL of the API of the project; relative, so that a prefix of a proxy stays. */
export function base(): string {
  return `../v1/${encodeURIComponent(session()?.projectId ?? '')}`
}

export function stackPath(name: string, id: string): string {
  return `/stacks/${encodeURIComponent(name)}/${encodeURIComponent(id)}`
}

export function headers(): Record<string, string> {
  const token = session()?.token
  return token ? { 'X-Auth-Token': token } : {}
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response
  const token = session()?.token ?? null
  try {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    answer = await fetch(base() + path, {
      method, headers: { Accept: 'application/json', ...headers(), ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) }, ...sent,
    })
  } catch {
    throw new ApiError(0, 'Network', 'network')
  }
  if (answer.status === 401) expire(token)
  const text = await answer.text()
  let found: unknown = null
  try {
    found = text ? JSON.parse(text) : null
  } catch {
    found = null
  }
  if (!answer.ok) throw refusal(answer.status, found)
  return found as T
}

function refusal(status: number, found: unknown): ApiError {
  const fault = found as { error?: { type?: string; message?: string }; explanation?: string } | null
  return new ApiError(status, fault?.error?.type ?? '', fault?.error?.message ?? fault?.explanation ?? `HTTP ${status}`)
}

export const get = <T>(path: string): Promise<T> => call<T>('GET', path)

/** All stacks, page by page; `each` gets what has come so far. */
export async function allStacks(each: (found: StackSummary[]) => void): Promise<void> {
  const found: StackSummary[] = []
  let marker = ''
  for (;;) {
    const page = await get<Shapes['StackList']>(`/stacks?limit=1000${marker && `&marker=${encodeURIComponent(marker)}`}`)
    found.push(...page.stacks)
    each([...found])
    const last = page.stacks.at(-1)
    if (page.stacks.length < 1000 || !last) return
    marker = last.id
  }
}

/** Name and id of a stack in a link of the API. */
export function stackOf(href: string): { name: string; id: string } | null {
  const parts = /\/stacks\/([^/?]+)\/([^/?]+)/.exec(href)
  return parts?.[1] && parts[2] ? { name: decodeURIComponent(parts[1]), id: decodeURIComponent(parts[2]) } : null
}
