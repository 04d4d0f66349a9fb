/** Who works here: the token of Keystone in this tab, or none in the embedded mode. */

export interface Session {
  token: string | null
  projectId: string
  projectName: string
  userName: string
  roles: string[]
  expiresAt: string | null
}

export interface Options {
  auth: 'keystone' | 'none'
  project: string | null
}

interface Granted {
  token: string
  expires_at: string
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

let current: Session | null = null

export function session(): Session | null {
  return current
}

export function keep(found: Session | null): void {
  current = found
  if (found?.token) sessionStorage.setItem(KEPT, JSON.stringify(found))
  else sessionStorage.removeItem(KEPT)
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
    keep({ token: null, projectId: project, projectName: project, userName: project, roles: ['admin', 'member', 'reader'], expiresAt: null })
    return options
  }
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Session | null
    if (stored?.token && Date.parse(stored.expiresAt ?? '') > Date.now()) current = stored
  } catch {
    sessionStorage.removeItem(KEPT)
  }
  return options
}

/** Gets a token by the body of Keystone; throws an Error with Keystone's words. */
export async function logIn(auth: unknown): Promise<Session> {
  const answer = await fetch('identity/token', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ auth }),
  })
  const found = (await answer.json()) as Granted & { message?: string; error?: { message?: string } }
  if (!answer.ok) throw new Error(found.message ?? found.error?.message ?? answer.statusText)
  const made = {
    token: found.token, projectId: found.project?.id ?? '', projectName: found.project?.name ?? '',
    userName: found.user?.name ?? '', roles: (found.roles ?? []).map((role) => role.name), expiresAt: found.expires_at,
  }
  if (made.projectId) keep(made)
  return made
}

export async function projects(): Promise<Project[]> {
  if (!current?.token) return []
  const answer = await fetch('identity/projects', { headers: { 'X-Auth-Token': current.token } })
  if (!answer.ok) return []
  return ((await answer.json()) as { projects: Project[] }).projects
}

/** The same user in another project, by the token that is there. */
export async function switchTo(projectId: string): Promise<void> {
  if (!current?.token) return
  await logIn({ identity: { methods: ['token'], token: { id: current.token } }, scope: { project: { id: projectId } } })
}

export async function logOut(): Promise<void> {
  const token = current?.token
  keep(null)
  if (token) await fetch('identity/token', { method: 'DELETE', headers: { 'X-Auth-Token': token } }).catch(() => undefined)
}
