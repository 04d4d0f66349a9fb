/** What the editor knows about types and functions: asked for when it is needed, and once. */
import { get, type Shapes } from '../api/client'

export interface Schema {
  type: string
  description?: string
  default?: unknown
  required?: boolean
  update_allowed?: boolean
  constraints?: Record<string, unknown>[]
  schema?: Record<string, Schema>
}

export interface TypeFacts {
  properties: Record<string, Schema>
  attributes: Record<string, Schema>
}

export type Values = Shapes['ConstraintValues']

/** What is written for an object of a list: its name if no other one has it, else its id. */
export function writtenAs(value: Values['values'][number], all: Values['values']): string {
  return value.name && all.filter((each) => each.name === value.name).length === 1 ? value.name : value.id
}

export interface Described {
  name: string
  description: string
}

/** What cannot be asked is not known: an empty list, or null. */
export class Knowledge {
  private readonly asked = new Map<string, Promise<unknown>>()

  types(): Promise<Described[]> {
    return this.once('/resource_types?with_description=true', [], (found: Shapes['TypeList']) =>
      found.resource_types.map((each) => (typeof each === 'string' ? { name: each, description: '' } : { name: each.resource_type, description: each.description ?? '' })))
  }

  type(name: string): Promise<TypeFacts | null> {
    return this.once(`/resource_types/${encodeURIComponent(name)}`, null, (found: Shapes['TypeSchema']) => found as unknown as TypeFacts)
  }

  /** `version`: of the template, as heat_template_version.2021-04-16. */
  functions(version: string): Promise<Described[]> {
    return this.once(`/template_versions/${encodeURIComponent(version)}/functions`, [], (found: Shapes['FunctionList']) =>
      found.template_functions.map((each) => ({ name: each.functions, description: each.description ?? '' })))
  }

  /** What a custom constraint accepts; null if there is no list of that. */
  values(constraint: string): Promise<Values | null> {
    return this.once(`/constraints/${encodeURIComponent(constraint)}/values`, null, (found: Values) => found)
  }

  private once<A, T>(path: string, none: T, read: (answer: A) => T): Promise<T> {
    const known = this.asked.get(path) as Promise<T> | undefined
    if (known) return known
    const made = get<A>(path).then(read, () => {
      this.asked.delete(path)
      return none
    })
    this.asked.set(path, made)
    return made
  }
}
