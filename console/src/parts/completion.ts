/** What can be written at a place of a template, and what is written there: from the template and the catalogue. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { Text } from '@codemirror/state'
import { t } from '../i18n'
import { writtenAs, type Described, type Knowledge, type Schema } from './knowledge'
import { ENTRY, keyOf, spotAt, type Spot } from './spot'

const SECTIONS = ['heat_template_version: 2021-04-16', 'description: ', 'parameter_groups:', 'parameters:', 'conditions:', 'resources:', 'outputs:']
const KEYS: Record<string, string[]> = {
  resources: ['type', 'properties', 'depends_on', 'condition', 'metadata', 'deletion_policy', 'update_policy', 'external_id'],
  parameters: ['type', 'label', 'description', 'default', 'hidden', 'constraints', 'immutable', 'tags'],
  outputs: ['description', 'value', 'condition'],
  Resources: ['Type', 'Properties', 'DependsOn', 'Condition', 'Metadata', 'DeletionPolicy', 'UpdatePolicy'],
  Parameters: ['Type', 'Description', 'Default', 'NoEcho', 'AllowedValues'],
  Outputs: ['Description', 'Value', 'Condition'],
}
const PSEUDO = { parameters: ['OS::stack_name', 'OS::stack_id', 'OS::project_id'], Parameters: ['AWS::StackName', 'AWS::StackId', 'AWS::Region'] }
const WORD = /[\w:.-]*/
const VALUES: Record<string, string[]> = {
  deletion_policy: ['Delete', 'Retain', 'Snapshot'], DeletionPolicy: ['Delete', 'Retain', 'Snapshot'],
}

export async function complete(context: CompletionContext, knowledge: Knowledge): Promise<CompletionResult | null> {
  const word = context.matchBefore(WORD)
  if (!word || (word.from === word.to && !context.explicit)) return null
  const document = context.state.doc
  const line = document.lineAt(context.pos)
  const spot = spotAt((number) => document.line(number).text, line.number, line.text.slice(0, word.from - line.from))
  if (!spot) return null
  const isKey = /^\s*:/.test(line.text.slice(context.pos - line.from).replace(/^[\w.-]*/, ''))
  const options = await optionsAt(spot, document, knowledge, isKey)
  return options.length ? { from: word.from, options, validFor: /^[\w:.-]*$/ } : null
}

async function optionsAt(spot: Spot, document: Text, knowledge: Knowledge, hasColon: boolean): Promise<Completion[]> {
  const [section = '', , part = ''] = spot.path
  const keys = (names: string[]): Completion[] => names.map((label) => ({ label, type: 'keyword', apply: hasColon ? label : `${label}: ` }))
  if (spot.at === 'value' || spot.path.at(-1) === ENTRY) {
    const found = await valuesAt(spot, document, knowledge)
    if (found.length || spot.at === 'value') return found
  }
  if (!spot.path.length) return spot.inside ? [] : SECTIONS.map((label) => ({ label, type: 'keyword' }))
  if (spot.path.length === 2 && KEYS[section]) return keys(KEYS[section])
  const within = await schemaAt(spot, document, knowledge)
  const properties = within ? propertiesOf(within.level, hasColon) : []
  const isPlace = /^(properties|Properties|value|Value|metadata|Metadata)$/.test(part) || spot.inside === '{'
  return isPlace && !(within && spot.path.length === 3) ? [...properties, ...(await functionsOf(document, knowledge, hasColon))] : properties
}

function propertiesOf(level: Record<string, Schema>, hasColon: boolean): Completion[] {
  return Object.entries(level).filter(([name]) => name !== ENTRY).map(([label, each]) => ({
    label, type: 'property', detail: each.required ? `${each.type}, ${t('types.required')}` : each.type,
    ...(each.description ? { info: each.description } : {}), boost: each.required ? 2 : 1, apply: hasColon ? label : `${label}: `,
  }))
}

async function functionsOf(document: Text, knowledge: Knowledge, hasColon: boolean): Promise<Completion[]> {
  return (await knowledge.functions(versionOf(document))).map((each) => ({
    label: each.name, type: 'function', info: each.description, boost: -1, apply: hasColon ? each.name : `${each.name}: ` }))
}

async function valuesAt(spot: Spot, document: Text, knowledge: Knowledge): Promise<Completion[]> {
  const isListed = spot.path.at(-1) === ENTRY
  const holder = spot.path.at(isListed ? -2 : -1) ?? ''
  const names = (section: 'parameters' | 'resources'): Completion[] => {
    const old = section === 'parameters' ? 'Parameters' : 'Resources'
    const known = [...keysOf(document, section), ...keysOf(document, old)]
    const isOld = spot.path[0] === old || /^(Resources|Outputs)$/.test(spot.path[0] ?? '')
    return [...known, ...(section === 'parameters' ? PSEUDO[isOld ? 'Parameters' : 'parameters'] : [])].map((label) => ({ label, type: 'variable' }))
  }
  const section = spot.path[0] ?? ''
  switch (holder) {
    case 'get_param': return spot.items.length ? [] : names('parameters')
    case 'Ref': return [...names('parameters'), ...names('resources')]
    case 'get_resource': case 'depends_on': case 'DependsOn': return names('resources')
    case 'get_attr': case 'Fn::GetAtt':
      if (!spot.items.length) return names('resources')
      return spot.items.length === 1 ? attributesOf(spot.items[0] ?? '', document, knowledge) : []
  }
  if (spot.path.length === 3 && !isListed && /^(resources|Resources)$/.test(section)) {
    if (/^(type|Type)$/.test(holder)) return (await knowledge.types()).map((each) => ({ label: each.name, type: 'class', info: each.description }))
    return (VALUES[holder] ?? []).map((label) => ({ label, type: 'enum' }))
  }
  const schema = (await schemaAt(spot, document, knowledge))?.node
  if (!schema) return []
  const allowed = schema.constraints?.flatMap((each) => (Array.isArray(each['allowed_values']) ? each['allowed_values'] as unknown[] : [])) ?? []
  const custom = schema.constraints?.map((each) => each['custom_constraint']).find((each) => typeof each === 'string')
  const listed = typeof custom === 'string' ? (await knowledge.values(custom))?.values ?? [] : []
  if (listed.length) return listed.map((each) => ({ label: writtenAs(each, listed), detail: each.id, type: 'constant' }))
  return (allowed.length ? allowed : schema.type === 'boolean' ? [true, false] : []).map((each) => ({ label: String(each), type: 'enum', ...(schema.description ? { info: schema.description } : {}) }))
}

async function attributesOf(resource: string, document: Text, knowledge: Knowledge): Promise<Completion[]> {
  const type = typeNamed(resource, document)
  const facts = type && await knowledge.type(type)
  return Object.entries(facts ? facts.attributes : {}).map(([label, each]) => ({ label, type: 'property', detail: each.type, ...(each.description ? { info: each.description } : {}) }))
}

/** The schema of a property at a place, and those of what is below it; null outside of properties of known types. */
async function schemaAt(spot: Spot, document: Text, knowledge: Knowledge): Promise<{ node: Schema | null; level: Record<string, Schema> } | null> {
  const [section = '', , part = '', ...rest] = spot.path
  if (!/^(resources|Resources)$/.test(section) || !/^(properties|Properties)$/.test(part)) return null
  const type = typeBelow(document, spot.lines[1] ?? 0)
  const facts = type && await knowledge.type(type)
  if (!facts) return null
  let node: Schema | null = null
  let level: Record<string, Schema> = facts.properties
  for (const name of rest) {
    node = level[name] ?? null
    level = node?.schema ?? {}
  }
  return { node, level }
}

/** The type that the resource whose key is in this line has. */
function typeBelow(document: Text, number: number): string | null {
  if (number < 1) return null
  const first = document.line(number).text
  const column = keyOf(first)?.column ?? 0
  for (let line = number; line <= Math.min(document.lines, number + 2000); line++) {
    const text = document.line(line).text
    if (line > number && text.trim() && text.length - text.trimStart().length <= column) return null
    const found = /(?:^|[\s{,])(?:type|Type):\s*["']?([\w:./-]+)/.exec(text)
    if (found) return found[1] ?? null
  }
  return null
}

function typeNamed(resource: string, document: Text): string | null {
  for (let line = 1; line <= document.lines; line++) {
    if (/^(resources|Resources):/.test(document.line(line).text)) {
      for (const key of keysBelow(document, line)) if (key.name === resource) return typeBelow(document, key.line)
    }
  }
  return null
}

function keysOf(document: Text, section: string): string[] {
  for (let line = 1; line <= document.lines; line++) {
    if (document.line(line).text.startsWith(`${section}:`)) return keysBelow(document, line).map((each) => each.name)
  }
  return []
}

/** The keys of the mapping that begins after a line, by their indentation. */
function keysBelow(document: Text, number: number): { name: string; line: number }[] {
  const found: { name: string; line: number }[] = []
  let column = -1
  for (let line = number + 1; line <= document.lines; line++) {
    const text = document.line(line).text
    const indent = text.length - text.trimStart().length
    if (!text.trim() || text.trimStart().startsWith('#')) continue
    if (indent === 0) break
    if (column < 0) column = indent
    const key = indent === column ? keyOf(text) : null
    if (key) found.push({ name: key.name, line })
  }
  return found
}

function versionOf(document: Text): string {
  for (let line = 1; line <= Math.min(document.lines, 50); line++) {
    const found = /^(heat_template_version|AWSTemplateFormatVersion|HeatTemplateFormatVersion):\s*["']?([\w-]+)/.exec(document.line(line).text)
    if (found) return `${found[1]}.${found[2]}`
  }
  return 'heat_template_version.2021-04-16'
}

/** The description of the word at a place: of a property, a type or a function; null if there is none. */
export async function explain(document: Text, position: number, knowledge: Knowledge): Promise<{ from: number; to: number; text: string } | null> {
  const line = document.lineAt(position)
  const before = /[\w:.-]*$/.exec(line.text.slice(0, position - line.from))?.[0] ?? ''
  const after = /^[\w:.-]*/.exec(line.text.slice(position - line.from))?.[0] ?? ''
  const from = position - before.length
  const word = (before + after).replace(/:$/, '')
  const spot = word ? spotAt((number) => document.line(number).text, line.number, line.text.slice(0, from - line.from)) : null
  if (!spot) return null
  const found = (await descriptionOf(spot, word, document, knowledge))?.trim()
  return found ? { from, to: from + word.length, text: found } : null
}

async function descriptionOf(spot: Spot, word: string, document: Text, knowledge: Knowledge): Promise<string | undefined> {
  const named = (all: Described[]): string | undefined => all.find((each) => each.name === word)?.description
  if (spot.at === 'value') return /^(type|Type)$/.test(spot.path.at(-1) ?? '') ? named(await knowledge.types()) : undefined
  const property = (await schemaAt(spot, document, knowledge))?.level[word]
  return property ? property.description : named(await knowledge.functions(versionOf(document)))
}
