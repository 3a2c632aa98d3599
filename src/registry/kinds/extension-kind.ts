import semver from 'semver'
import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import { ENGINE_NAME, ENGINE_VERSION } from '../../base/version.ts'
import type { Slices } from '../../runtime/event-loop.ts'
import { keyToPath, toPath } from '../../store/store.ts'
import { type Diagnostic, ofContributed, ofPart, RejectedEntry } from '../diagnostic.ts'
import { entrySchema, type Fields, lintFields } from '../entries/entry-schemas.ts'
import type { EntryParser } from '../entries/entry-table.ts'
import type { TemplateCache } from '../entries/template-cache.ts'
import { decodeJson, type Definition, type DefinitionKind, type EntryKind } from './entry-kind.ts'
import { PROMPT_SCHEMA } from './prompt-definition.ts'
import { isSound, parsePromptEntry, type PromptEntry } from './prompt-kind.ts'

const SCHEMA = entrySchema('extension')

const KNOWN_TYPES: ReadonlySet<string> = new Set(['prompt', 'skill', 'agent', 'plan', 'bundle'])

export interface ExtensionDefinition {
  readonly source: JsonObject
  readonly name: string
  readonly type: string
  /** If not, it is listed, but callers cannot use its entries. */
  readonly isKnownType: boolean
  readonly version: string | undefined
  readonly incompatibility: string | undefined
  readonly supports: readonly string[]
  readonly prompts: readonly JsonObject[]
  readonly dependences: readonly { readonly name: string, readonly version: string | undefined, readonly failStrategy: 'abort' | 'ignore' }[]
}

/** @throws RejectedEntry when it breaks `jsonschema/extension.json` */
function parseExtensionDefinition (value: Json): ExtensionDefinition {
  SCHEMA.check(value, () => lintWhole(value))
  const source = value as JsonObject
  const contributes = source['contributes'] as JsonObject
  const type = (source['extensionType'] ?? 'prompt') as string
  const prompts = (contributes['prompts'] ?? []) as readonly JsonObject[]
  return {
    source,
    name: source['name'] as string,
    type,
    isKnownType: KNOWN_TYPES.has(type),
    version: source['version'] as string | undefined,
    incompatibility: findIncompatibility(source['engines'] as JsonObject | undefined),
    supports: [...new Set(prompts.flatMap(prompt => (prompt['supports'] ?? []) as readonly string[]))],
    prompts,
    dependences: ((contributes['dependences'] ?? []) as readonly JsonObject[]).map(dependence => ({
      name: dependence['name'] as string,
      version: dependence['version'] as string | undefined,
      failStrategy: dependence['failStrategy'] === 'abort' ? 'abort' : 'ignore'
    }))
  }
}

export function contributedId ({ name }: Pick<ExtensionDefinition, 'name'>, contributed: JsonObject): string {
  return toPath(`${name}.${String(contributed['name'])}`)
}

function lintExtensionDefinition (definition: ExtensionDefinition): Diagnostic[] {
  const diagnostics = lintFields(definition.source, SCHEMA.fields)
  if (definition.version !== undefined && semver.valid(definition.version) === null) {
    diagnostics.push({ severity: 'warning', code: 'VERSION_INVALID', message: `version "${definition.version}" is no semantic version`, hint: 'write x.y.z' })
  }
  if (definition.incompatibility !== undefined) diagnostics.push({ severity: 'error', code: 'ENGINE_INCOMPATIBLE', message: definition.incompatibility })
  return diagnostics
}

/** A usable extension's prompts are checked one by one instead. */
function lintWhole (source: Json): Diagnostic[] {
  return lintFields(source, { ...SCHEMA.fields, below: withPrompts(SCHEMA.fields.below) })
}

function withPrompts (below: Fields['below']): Fields['below'] {
  const contributes = below.get('contributes')
  if (contributes === undefined) return below
  return new Map([
    ...below,
    ['contributes', { ...contributes, below: new Map([...contributes.below, ['prompts', { ...PROMPT_SCHEMA.fields, shape: 'list' }]]) }]
  ])
}

function findIncompatibility (engines: JsonObject | undefined): string | undefined {
  const name = engines?.['name']
  const range = engines?.['version']
  if (name !== undefined && name !== ENGINE_NAME) return `engines.name is "${String(name)}", this engine is ${ENGINE_NAME}`
  if (typeof range !== 'string') return undefined
  if (semver.validRange(range) === null) return `engines.version "${range}" is no version range`
  return semver.satisfies(ENGINE_VERSION, range) ? undefined : `engines.version ${range} does not admit this engine, ${ENGINE_VERSION}`
}

export function isOffered (definition: ExtensionDefinition): boolean {
  return definition.isKnownType && definition.incompatibility === undefined
}

export function missingDependences (definition: ExtensionDefinition, present: readonly ExtensionDefinition[]): Diagnostic[] {
  const missing = definition.dependences.filter(wanted => !present.some(({ name, version }) => name === wanted.name && admits(wanted.version, version)))
  return missing.map(wanted => {
    const versions = present.flatMap(({ name, version = '' }) => name === wanted.name ? [version] : [])
    const instead = versions.length === 0 ? 'which is not registered, or cannot be used' : `and what is registered is ${versions.join(', ')}`
    return {
      severity: wanted.failStrategy === 'abort' ? 'error' : 'warning',
      code: 'DEPENDENCE_MISSING',
      message: `it depends on ${wanted.name}${wanted.version === undefined ? '' : ` ${wanted.version}`}, ${instead}`
    }
  })
}

function admits (range: string | undefined, version: string | undefined): boolean {
  if (range === undefined || version === undefined) return true
  return semver.valid(version) === null || semver.validRange(range) === null || semver.satisfies(version, range)
}

export const PROMPTS = { name: 'prompts', noun: 'prompt' }

export interface ExtensionEntry {
  /** From its key; its entries' ids begin with the extension's name instead. */
  readonly id: string
  readonly definition: ExtensionDefinition
  readonly prompts: readonly PromptEntry[]
  readonly definitions: ReadonlyMap<string, readonly Definition[]>
  readonly diagnostics: readonly Diagnostic[]
  readonly hash: string
}

/** Parses `shenma:extensions:*`, and compiles their prompts, too. */
export function extensionParser (prefix: string, cache: TemplateCache, kinds: readonly DefinitionKind[]): EntryParser<ExtensionEntry> {
  return {
    nameOf: key => keyToPath(key, prefix),
    async parse (key, text, slices) {
      const definition = parseExtensionDefinition(decodeJson(text).value)
      const prompts = await parsePrompts(definition, cache, slices)
      const brought = kinds.map(kind => [kind, parseDefinitions(definition, kind)] as const)
      return {
        id: keyToPath(key, prefix),
        definition,
        prompts,
        definitions: new Map(brought.map(([kind, { definitions }]) => [kind.key, definitions])),
        diagnostics: [
          ...lintExtensionDefinition(definition),
          ...prompts.flatMap(({ id, diagnostics }, index) => diagnostics.map(diagnostic => ofPart(
            ['contributes', 'prompts', index],
            ofContributed(PROMPTS, id, diagnostic)
          ))),
          ...brought.flatMap(([, { diagnostics }]) => diagnostics)
        ],
        hash: contentHash(definition.source)
      }
    },
    isSound: entry => entry.prompts.every(isSound),
    isUsable: ({ prompts }) => prompts.length === 0 || prompts.some(isSound),
    diagnostics: entry => entry.diagnostics
  }
}

async function parsePrompts (definition: ExtensionDefinition, cache: TemplateCache, slices: Slices): Promise<readonly PromptEntry[]> {
  const prompts: PromptEntry[] = []
  for (const prompt of definition.isKnownType ? definition.prompts : []) {
    prompts.push(await parsePromptEntry(contributedId(definition, prompt), 'extension', prompt, cache, slices))
    if (slices.isDue()) await slices.pause()
  }
  return prompts
}

/** A broken entry is left out, with its reasons among the diagnostics. */
function parseDefinitions (extension: ExtensionDefinition, kind: DefinitionKind): { definitions: readonly Definition[], diagnostics: readonly Diagnostic[] } {
  const definitions: Definition[] = []
  const diagnostics: Diagnostic[] = []
  for (const [index, { name, ...value }] of (extension.isKnownType ? listed(extension, kind) : []).entries()) {
    const id = contributedId(extension, { name: name ?? '' })
    const told = (diagnostic: Diagnostic) => ofPart(['contributes', kind.contributes, index], ofContributed(kind, id, diagnostic))
    try {
      const definition = kind.define(id, value, 'extension')
      definitions.push(definition)
      diagnostics.push(...definition.diagnostics.map(told))
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      diagnostics.push(...error.diagnostics.map(told))
    }
  }
  return { definitions, diagnostics }
}

function listed ({ source }: ExtensionDefinition, { contributes }: DefinitionKind): readonly JsonObject[] {
  const all = source['contributes'] as JsonObject
  return (Object.hasOwn(all, contributes) ? all[contributes] : []) as readonly JsonObject[]
}

/** Stored under `shenma:extensions:*`. */
export const extensionKind: EntryKind<ExtensionEntry> = {
  key: 'extensions',
  name: 'extensions',
  noun: 'extension',
  reading: 'whole',
  // An unreadable extension perhaps holds prompts that the caller is not allowed to see.
  access: 'shown',
  decode: decodeJson,
  normalise: value => value,
  check: (entry, { lint }) => lint('extensions', entry),
  parser: ({ prefix, cache, definitionKinds }) => extensionParser(prefix, cache, definitionKinds)
}
