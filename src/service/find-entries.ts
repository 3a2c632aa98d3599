import type { EnvironNameList } from '../access/environ-view.ts'
import {
  definitionNotFound, definitionNotUsable, environNotFound, extensionNotFound, extensionNotUsable, promptNotFound, promptNotUsable, promptWithheld,
  type ServiceError, storeUnavailable, toolNotFound, toolNotUsable
} from '../base/errors.ts'
import { placed } from '../registry/diagnostic-table.ts'
import { describeDiagnostic } from '../registry/diagnostic.ts'
import { nearMatches } from '../base/near-matches.ts'
import type { EntryProblem } from '../registry/entries/entry-table.ts'
import type { Extension, Generation } from '../registry/generation.ts'
import { definitionsOf } from '../registry/offered.ts'
import type { Definition, DefinitionKind } from '../registry/kinds/entry-kind.ts'
import { contributedId, extensionKind, isOffered } from '../registry/kinds/extension-kind.ts'
import { toolKind } from '../registry/kinds/tool-kind.ts'
import { namesAbove, rejectedPrompt } from '../registry/unknown-names.ts'
import { keyToFunction, toPath } from '../store/store.ts'

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
