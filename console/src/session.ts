/** Who works here: the token of Keystone in this tab, or none in the embedded mode; renewed before it expires. */

export interface Session {
  token: string | null
  projectId: string
  projectName: string
  userName: string
  roles: string[]
  expiresAt: string | null              // by the clock of the browser
  isBound: boolean                      // to its project: made by an application credential
}

export interface Options {
  auth: 'keystone' | 'none'
  project: string | null
}

interface Granted {
  token: string
  issued_at: string
  expires_at: string
  methods: string[] | null
  user: { name: string } | null
  project: { id: string; name: string } | null
  roles: { name: string }[] | null
}

export interface Project {
  id: string
  name: string
}

const KEPT = 'heatlite.session'
const WRITERS = new Set(['member', 'admin', 'manager'])

/** Renewed when a quarter of the life of the token is left, or five minutes. */
const AHEAD = { part: 0.25, most: 300_000 }
const AGAIN = 10_000
const LONGEST = 2_000_000_000           // a timer of the browser cannot wait longer

/** What Keystone does not accept; `status`: of its answer. */
class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message)
  }
}

let current: Session | null = null
/** What a new token is asked for with: in the memory of the page only. */
let secret: unknown = null
let timer: number | undefined
let onExpired: () => void = () => undefined

export function session(): Session | null {
  return current
}

/** `forget`: called when the session has ended by itself. */
export function whenExpired(forget: () => void): void {
  onExpired = forget
}

/** Ends the session if its token is still `token`: another one may have come since a request was sent. */
export function expire(token: string | null): void {
  if (!token || current?.token !== token) return
  keep(null)
  onExpired()
}

function keep(found: Session | null): void {
  current = found
  if (found?.token) sessionStorage.setItem(KEPT, JSON.stringify(found))
  else {
    secret = null
    sessionStorage.removeItem(KEPT)
  }
  plan()
}

/** Sets the timer of the next renewal, or of the end. */
function plan(): void {
  clearTimeout(timer)
  if (!current?.token || !current.expiresAt) return
  const token = current.token
  const left = Date.parse(current.expiresAt) - Date.now()
  const wait = secret ? left - Math.min(left * AHEAD.part, AHEAD.most) : left
  timer = window.setTimeout(wait > LONGEST ? plan : secret ? () => void renew() : () => expire(token), Math.min(Math.max(wait, 0), LONGEST))
}

async function renew(): Promise<void> {
  const before = current
  if (!before) return
  try {
    const made = await ask({ identity: secret, ...(before.isBound ? {} : { scope: { project: { id: before.projectId } } }) })
    if (current === before) keep(made)
  } catch (problem) {
    if (current !== before) return
    if (problem instanceof Refused && problem.status < 500) secret = null
    if (!secret || Date.parse(before.expiresAt ?? '') < Date.now()) {
      secret = null
      plan()
    } else timer = window.setTimeout(() => void renew(), AGAIN)
  }
}

/** Whether to offer changes: a reader has no buttons that would be refused. */
export function mayChange(): boolean {
  return current?.roles.some((role) => WRITERS.has(role)) ?? false
}

export function isAdmin(): boolean {
  return current?.roles.includes('admin') ?? false
}

/** The session of this tab, if there is one that has not expired. */
export async function begin(): Promise<Options> {
  const answer = await fetch('options.json')
  const options = (await answer.json()) as Options
  if (options.auth === 'none') {
    const project = options.project ?? 'admin'
    keep({ token: null, projectId: project, projectName: project, userName: project, roles: ['admin', 'member', 'reader'], expiresAt: null, isBound: true })
    return options
  }
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Session | null
    if (stored?.token && Date.parse(stored.expiresAt ?? '') > Date.now()) keep(stored)
  } catch {
    sessionStorage.removeItem(KEPT)
  }
  return options
}

/** Asks Keystone for a token. Throws Refused with Keystone's words. */
async function ask(auth: unknown): Promise<Session> {
  const answer = await fetch('identity/token', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ auth }),
  })
  const found = (await answer.json()) as Granted & { message?: string; error?: { message?: string } }
  if (!answer.ok) throw new Refused(answer.status, found.message ?? found.error?.message ?? answer.statusText)
  // By this clock: that of the browser may differ from Keystone's.
  const life = Date.parse(found.expires_at) - Date.parse(found.issued_at)
  return {
    token: found.token, projectId: found.project?.id ?? '', projectName: found.project?.name ?? '',
    userName: found.user?.name ?? '', roles: (found.roles ?? []).map((role) => role.name),
    expiresAt: new Date(Date.now() + life).toISOString(), isBound: found.methods?.includes('application_credential') ?? false,
  }
}

/**
 * Begins a session. `identity`: as in the body of Keystone; `stays`: renew the token with it before it expires. Without a
 * scope, and for a user without a default project, in the first of the user's projects. Returns whether there is one.
 */
export async function logIn(identity: { methods: string[] }, scope: object, stays: boolean): Promise<boolean> {
  let made = await ask({ identity, ...scope })
  if (!made.projectId) {
    const first = (await listed(made.token ?? ''))[0]
    if (!first) return false
    made = await ask(scoped(made.token, first.id))
  }
  secret = stays && !identity.methods.includes('token') ? identity : null
  keep(made)
  return true
}

const scoped = (token: string | null, projectId: string): object => ({
  identity: { methods: ['token'], token: { id: token } }, scope: { project: { id: projectId } },
})

async function listed(token: string): Promise<Project[]> {
  const answer = await fetch('identity/projects', { headers: { 'X-Auth-Token': token } })
  return answer.ok ? ((await answer.json()) as { projects: Project[] }).projects : []
}

export async function projects(): Promise<Project[]> {
  return current?.token ? listed(current.token) : []
}

/** The same user in another project, by the token that is there. */
export async function switchTo(projectId: string): Promise<void> {
  if (current?.token) keep(await ask(scoped(current.token, projectId)))
}

export async function logOut(): Promise<void> {
  const token = current?.token
  keep(null)
  if (token) await fetch('identity/token', { method: 'DELETE', headers: { 'X-Auth-Token': token } }).catch(() => undefined)
}
