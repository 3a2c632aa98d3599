import { type Caller } from '../access/caller.ts'
import { labelNotFound, requestInvalid, versionNotFound } from '../base/errors.ts'
import { type Generation, type Prompt } from '../registry/generation.ts'
import { bucketOf, LATEST, shareAt } from '../registry/kinds/release-record.ts'
import { type PromptReference, readReference } from '../registry/link/references.ts'
import { type PromptRelease } from '../registry/generation.ts'
import { toPath } from '../store/store.ts'
import { missingPrompt } from './find-entries.ts'
import { type VersionReader } from './version-reader.ts'

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

interface ChoiceOptions {
  readonly versions: Pick<VersionReader, 'read'>
  /** For requests that name no label, and whose token names none; empty for `latest`. */
  readonly defaultLabel: string
  /** Gets the token's or the default label if the prompt lacks it; the latest version is served then. */
  readonly onFallback?: (label: string) => void
}

export function createPromptChoice ({ versions, defaultLabel, onFallback }: ChoiceOptions): ChoosePrompt {
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
  const prompt = lookUpPrompt(generation, id)
  if (prompt === undefined) throw missingPrompt(generation, id)
  return { prompt, version: release?.latest, label: undefined }
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
