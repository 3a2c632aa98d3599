import { type EnvironNameList } from '../access/environ-view.ts'
import {
  environNotFound, extensionNotFound, extensionNotUsable, promptNotFound, promptNotUsable, promptWithheld, type ServiceError, storeUnavailable,
  toolNotFound, toolNotUsable
} from '../base/errors.ts'
import { isOffered } from '../registry/kinds/extension/dependences.ts'
import { inWords } from '../registry/diagnostic/diagnostic.ts'
import { placed } from '../registry/diagnostic/diagnostic-table.ts'
import { extensionKind } from '../registry/kinds/extension/extension-kind.ts'
import { toolKind } from '../registry/kinds/tool/tool-kind.ts'
import { type EntryProblem } from '../registry/entries/entry-table.ts'
import { contributedId } from '../registry/kinds/extension/extension-definition.ts'
import { type Extension, type Generation } from '../registry/generation/generation.ts'
import { nearMatches } from '../registry/diagnostic/near-matches.ts'
import { namesAbove, rejectedPrompt } from '../registry/lint/rejected-names.ts'
import { keyToFunction, toPath } from '../store/keys.ts'

/** Refuses requests until the store was first read: before that it is unknown which entries exist. @throws STORE_UNAVAILABLE */
export function requireLoaded ({ number }: Generation): void {
  if (number === 0) throw storeUnavailable('the store has not been read yet')
}

/**
 * The error for a prompt that was not found: it says why the stored prompt, or the extension that brings it, cannot be used, or else lists
 * similar ids.
 * @throws STORE_UNAVAILABLE
 */
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

/** The error for an extension that is not served: it says why the stored one is unusable or, if none is stored, lists similar ids. @throws STORE_UNAVAILABLE */
export function missingExtension (generation: Generation, id: string): ServiceError {
  requireLoaded(generation)
  const { extensions, findRejected } = generation
  const path = toPath(id)
  const rejected = findRejected(extensionKind, path)
  return rejected === undefined ? extensionNotFound(id, nearMatches(path, extensions.keys())) : unusable(extensionNotUsable, id, rejected)
}

/** The error for a tool that is not served: it says why the stored one is unusable or, if none is stored, lists similar ids. @throws STORE_UNAVAILABLE */
export function missingTool (generation: Generation, id: string): ServiceError {
  requireLoaded(generation)
  const { tools, findRejected } = generation
  const path = toPath(id)
  const rejected = findRejected(toolKind, keyToFunction(path, ''))
  return rejected === undefined ? toolNotFound(id, nearMatches(path, tools.keys())) : unusable(toolNotUsable, id, rejected)
}

/** The error for a shared variable that was not found, with similar names. @param names the names that the caller may see @throws STORE_UNAVAILABLE */
export function missingEnviron (generation: Generation, id: string, names: EnvironNameList): ServiceError {
  requireLoaded(generation)
  return environNotFound(id, nearMatches(toPath(id), names))
}

/** Whether an extension contains a prompt of this id, but cannot be used itself: its type is unknown, or it does not fit this version of the service. */
function withholds ({ definition }: Extension, id: string): boolean {
  return !isOffered(definition) && definition.prompts.some(prompt => contributedId(definition, prompt) === id)
}

function unusable (make: (...facts: Parameters<typeof promptNotUsable>) => ServiceError, id: string, { key, diagnostics }: EntryProblem): ServiceError {
  return make(id, key, diagnostics.map(inWords), diagnostics.map(placed))
}
