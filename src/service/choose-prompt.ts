import type { Caller } from '../access/caller.ts'
import {
  labelNotFound, requestInvalid, versionNotFound, definitionNotFound, definitionNotUsable, environNotFound, extensionNotFound, extensionNotUsable,
  promptNotFound, promptNotUsable, promptWithheld, type ServiceError, storeUnavailable, toolNotFound, toolNotUsable
} from '../base/errors.ts'
import type { Generation, Prompt, PromptRelease, Extension } from '../registry/generation.ts'
import { bucketOf, LATEST, shareAt } from '../registry/kinds/release-record.ts'
import { type PromptReference, readReference } from '../registry/link/references.ts'
import { toPath, keyToFunction } from '../store/store.ts'
import type { VersionReader } from './version-reader.ts'
import type { EnvironNameList } from '../access/views.ts'
import { placed } from '../registry/diagnostic-table.ts'
import { describeDiagnostic } from '../registry/diagnostic.ts'
import { nearMatches } from '../base/near-matches.ts'
import type { EntryProblem } from '../registry/entries/entry-table.ts'
import { definitionsOf } from '../registry/offered.ts'
import type { Definition, DefinitionKind } from '../registry/kinds/entry-kind.ts'
import { contributedId, extensionKind, isOffered } from '../registry/kinds/extension-kind.ts'
import { toolKind } from '../registry/kinds/tool-kind.ts'
import { namesAbove, rejectedPrompt } from '../registry/unknown-names.ts'

export interface VersionSelector {
  readonly label?: string | undefined
  readonly version?: number | undefined
  /** The same key always gets the same of a label's versions; without a key, chance decides. */
  readonly key?: string | undefined
}

export interface ChosenPrompt {
  readonly prompt: Prompt
  readonly version: number | undefined
  readonly label: string | undefined
  /** From 0 to below 100, from the request's key, else random; left out when there was nothing to choose. */
  readonly bucket?: number
}

/** A promise only for a version. @throws PROMPT_NOT_FOUND, LABEL_NOT_FOUND, VERSION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE */
export type ChoosePrompt = (generation: Generation, caller: Pick<Caller, 'serve'>, id: string, wish: VersionSelector) => ChosenPrompt | Promise<ChosenPrompt>

/**
 * @param defaultLabel for requests that name no label, and whose token names none; empty for `latest`
 * @param onFallback gets the token's or the default label if the prompt lacks it; the latest version is served then
 */
export function createPromptChoice (versions: Pick<VersionReader, 'read'>, defaultLabel: string, onFallback?: (label: string) => void): ChoosePrompt {
  return function choosePrompt (generation, { serve }, given, wish) {
    const { id, label, version } = selectorOf(given, wish)
    const release = generation.releases.get(id.includes(':') ? toPath(id) : id)
    if (version !== undefined) return chooseVersion(generation, id, release, version)
    if (label !== undefined) return label === LATEST ? latest(generation, id, release) : underLabel(generation, id, release, label, wish.key)
    const preferred = serve ?? defaultLabel
    if (preferred === '' || preferred === LATEST) return latest(generation, id, release)
    if (release?.labels.has(preferred) === true) return underLabel(generation, id, release, preferred, wish.key)
    const chosen = latest(generation, id, release)
    onFallback?.(preferred)
    return chosen
  }

  async function chooseVersion (generation: Generation, id: string, release: PromptRelease | undefined, version: number): Promise<ChosenPrompt> {
    if (release === undefined) {
      if (lookUpPrompt(generation, id) === undefined) throw missingPrompt(generation, id)
      throw versionNotFound(id, version, [])
    }
    return { prompt: await versions.read(generation, release, version), version, label: undefined }
  }
}

/** @throws PROMPT_NOT_FOUND with near matches, STORE_UNAVAILABLE before anything was loaded */
export function findPrompt (generation: Generation, id: string): Prompt {
  const prompt = lookUpPrompt(generation, id)
  if (prompt === undefined) throw missingPrompt(generation, id)
  return prompt
}

export function resolveId (given: string): PromptReference {
  return readReference(given) ?? { id: given }
}

/** @throws REQUEST_INVALID when they differ */
function selectorOf (given: string, { label, version }: VersionSelector) {
  const named = resolveId(given)
  if (named.label !== undefined && label !== undefined && named.label !== label) {
    throw conflictingSelectors(`the id says the label "${named.label}", and another place "${label}"`)
  }
  if (named.version !== undefined && version !== undefined && named.version !== version) {
    throw conflictingSelectors(`the id says version ${named.version}, and another place ${version}`)
  }
  const wish = { id: named.id, label: named.label ?? label, version: named.version ?? version }
  if (wish.label !== undefined && wish.version !== undefined) throw conflictingSelectors('a label and a version are both asked for')
  return wish
}

function conflictingSelectors (reason: string): Error {
  return requestInvalid(`request: ${reason}; expected one of them`, { part: 'query' })
}

export function lookUpPrompt ({ prompts }: Generation, id: string): Prompt | undefined {
  return prompts.get(id) ?? prompts.get(toPath(id))
}

function latest (generation: Generation, id: string, release: PromptRelease | undefined): ChosenPrompt {
  return { prompt: findPrompt(generation, id), version: release?.latest, label: undefined }
}

function underLabel (generation: Generation, id: string, release: PromptRelease | undefined, label: string, key: string | undefined): ChosenPrompt {
  const versions = release?.labels.get(label)
  if (release === undefined || versions === undefined) {
    if (release === undefined && lookUpPrompt(generation, id) === undefined) throw missingPrompt(generation, id)
    throw labelNotFound(id, label, [...release?.labels.keys() ?? []])
  }
  const [first] = versions
  if (first === undefined) throw versionNotFound(id, meantBy(release, label), [...release.labels.keys()], `label ${label} means it, and it is not there`)
  if (versions.length === 1) return { prompt: first.prompt, version: first.version, label }
  const bucket = bucketOf(release.id, key)
  const { prompt, version } = shareAt(versions, bucket) ?? first
  return { prompt, version, label, bucket }
}

function meantBy ({ record }: PromptRelease, label: string): number {
  const target = record.labels.get(label)
  return typeof target === 'object' ? target[0]?.version ?? 0 : target ?? 0
}

/** @throws DEFINITION_NOT_FOUND with the reason, STORE_UNAVAILABLE */
export function findDefinition<D extends Definition> (generation: Generation, kind: DefinitionKind<D>, id: string): D {
  const found = seekDefinition(generation, kind, id)
  if (found === undefined) throw missingDefinition(generation, kind, toPath(id))
  return found
}

/** For callers that then look in another place. @throws STORE_UNAVAILABLE before the store was first read */
export function seekDefinition<D extends Definition> (generation: Generation, kind: DefinitionKind<D>, id: string): D | undefined {
  requireLoaded(generation)
  return definitionsOf(generation, kind).get(toPath(id))
}

function missingDefinition (generation: Generation, kind: DefinitionKind, path: string): ServiceError {
  const rejected = generation.findRejected(kind, path)
  if (rejected === undefined) return definitionNotFound(kind.noun, path, nearMatches(path, definitionsOf(generation, kind).keys()))
  const { key, diagnostics } = rejected
  return definitionNotUsable(kind.noun, path, key, diagnostics.map(describeDiagnostic), diagnostics.map(placed))
}

/** Before the store was first read it is unknown which entries exist. @throws STORE_UNAVAILABLE */
export function requireLoaded ({ number }: Generation): void {
  if (number === 0) throw storeUnavailable('the store has not been read yet')
}

/** Says why the stored prompt, or its extension, cannot be used, or lists similar ids. @throws STORE_UNAVAILABLE */
export function missingPrompt (generation: Generation, id: string): ServiceError {
  requireLoaded(generation)
  const { prompts, extensions, findRejected } = generation
  const path = toPath(id)
  const rejected = rejectedPrompt(path, findRejected)
  if (rejected !== undefined) return unusable(promptNotUsable, id, rejected)
  const withholding = namesAbove(path).map(name => extensions.get(name)).find(extension => extension !== undefined && withholds(extension, path))
  if (withholding === undefined) return promptNotFound(id, nearMatches(path, prompts.keys()))
  const { incompatibility, type } = withholding.definition
  return promptWithheld(id, withholding.id, incompatibility ?? `prompts of the type "${type}" are not run`)
}

/** @throws STORE_UNAVAILABLE */
export function missingExtension (generation: Generation, id: string): ServiceError {
  requireLoaded(generation)
  const { extensions, findRejected } = generation
  const path = toPath(id)
  const rejected = findRejected(extensionKind, path)
  return rejected === undefined ? extensionNotFound(id, nearMatches(path, extensions.keys())) : unusable(extensionNotUsable, id, rejected)
}

/** @throws STORE_UNAVAILABLE */
export function missingTool (generation: Generation, id: string): ServiceError {
  requireLoaded(generation)
  const { tools, findRejected } = generation
  const path = toPath(id)
  const rejected = findRejected(toolKind, keyToFunction(path, ''))
  return rejected === undefined ? toolNotFound(id, nearMatches(path, tools.keys())) : unusable(toolNotUsable, id, rejected)
}

/** `names`: those that the caller may see. @throws STORE_UNAVAILABLE */
export function missingEnviron (generation: Generation, id: string, names: EnvironNameList): ServiceError {
  requireLoaded(generation)
  return environNotFound(id, nearMatches(toPath(id), names))
}

function withholds ({ definition }: Extension, id: string): boolean {
  return !isOffered(definition) && definition.prompts.some(prompt => contributedId(definition, prompt) === id)
}

function unusable (make: (...facts: Parameters<typeof promptNotUsable>) => ServiceError, id: string, { key, diagnostics }: EntryProblem): ServiceError {
  return make(id, key, diagnostics.map(describeDiagnostic), diagnostics.map(placed))
}
