import semver from 'semver'
import { type Json, type JsonObject } from '../../../base/json.ts'
import { isObject } from '../../../template/value.ts'
import { ENGINE_NAME, ENGINE_VERSION } from '../../../base/version.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { checkWithFields, type Fields, lintFields } from '../../entries/misspelt-fields.ts'
import { PROMPT_SCHEMA } from '../prompt/prompt-definition.ts'
import { toPath } from '../../../store/keys.ts'

const SCHEMA = entrySchema('extension')

/**
 * The state of an extension. Callers can use the entries of an `active` or `degraded` extension (`degraded`: an extension that it cannot do
 * without is missing). They cannot use the entries of an `incompatible` or `inactive` extension (`inactive`: its type is unknown).
 */
export type ExtensionState = 'active' | 'degraded' | 'incompatible' | 'inactive'

const KNOWN_TYPES: ReadonlySet<string> = new Set(['prompt', 'skill', 'agent', 'plan', 'bundle'])

/** A dependence of one extension on another. When the other one is missing, the extension is `degraded` (`abort`), or only gets a warning (`ignore`). */
export interface Dependence {
  readonly name: string
  readonly version: string | undefined
  readonly failStrategy: 'abort' | 'ignore'
}

/** An extension (a package of prompts and other entries, published together) as it was parsed from its stored object. */
export interface ExtensionDefinition {
  /** The object as it is stored, which `GET /api/extensions/{id}` shows. */
  readonly source: JsonObject
  readonly name: string
  readonly type: string
  /** Whether this service knows the extension's type. If not, the extension is shown in listings, but callers cannot use the entries that it brings. */
  readonly isKnownType: boolean
  readonly version: string | undefined
  /** Why this service cannot run the extension, in words; `undefined` when it can. */
  readonly incompatibility: string | undefined
  readonly supports: readonly string[]
  readonly prompts: readonly JsonObject[]
  readonly dependences: readonly Dependence[]
}

/** Parses an extension. @throws RejectedEntry when it breaks `jsonschema/extension.json` */
export function parseExtensionDefinition (value: Json): ExtensionDefinition {
  checkWithFields(() => { SCHEMA.check(value) }, () => isObject(value) ? lintWhole(value as JsonObject) : [])
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

/** The id of an entry that an extension brings: the extension's name and the entry's own. */
export function contributedId ({ name }: Pick<ExtensionDefinition, 'name'>, contributed: JsonObject): string {
  return toPath(`${name}.${String(contributed['name'])}`)
}

/** Warnings and errors about an extension that could be parsed: misspelt fields, a bad version, another engine. */
export function lintExtensionDefinition (definition: ExtensionDefinition): Diagnostic[] {
  const diagnostics = lintFields(definition.source, SCHEMA.fields)
  if (definition.version !== undefined && semver.valid(definition.version) === null) {
    diagnostics.push({ severity: 'warning', code: 'VERSION_INVALID', message: `version "${definition.version}" is no semantic version`, hint: 'write x.y.z' })
  }
  if (definition.incompatibility !== undefined) diagnostics.push({ severity: 'error', code: 'ENGINE_INCOMPATIBLE', message: definition.incompatibility })
  return diagnostics
}

/** Warns of misspelt fields in an extension that cannot be used, and in its prompts. In a usable extension the prompts are checked one by one instead. */
function lintWhole (source: JsonObject): Diagnostic[] {
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
