import type { Caller } from '../access/caller.ts'
import { mayPublish } from '../access/rights.ts'
import { entryForbidden, entryInvalid, entryMissing } from '../base/errors.ts'
import { placed, type PlacedDiagnostic } from '../registry/diagnostic-table.ts'
import { type Diagnostic, describeDiagnostic, locate, reject, RejectedEntry } from '../registry/diagnostic.ts'
import type { Generation } from '../registry/generation.ts'
import { type CheckContext, contentTag, type Kind, type NewEntry } from '../registry/kinds/entry-kind.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import { findToolProblems } from '../registry/unknown-names.ts'
import type { Registry } from '../registry/registry.ts'
import { retryChange } from '../runtime/concurrency.ts'
import {
  type Expected, kindPrefix, MAX_VALUE_BYTES, pathToKey, type RemoveOutcome, type Store, type StoredValue, toPath, type WriteOutcome
} from '../store/store.ts'
import type { ToolReader } from '../tool/tool-reader.ts'
import type { LintCandidate } from './lint/lint-candidate.ts'
import type { VersionAbout, VersionPublisher } from './publish-version.ts'
import { asked, type Audit, changedSince, checkOutcome, expectation, holds, isUnconditional, type Precondition } from './record-store.ts'

const MAX_ATTEMPTS = 5

interface EntryChange {
  readonly caller: Caller
  readonly kind: Kind
  readonly id: string
  readonly precondition: Precondition
  readonly requestId: string
}

interface EntryPublication extends EntryChange {
  readonly generation: Generation
  readonly text: string
  readonly about?: VersionAbout
  readonly isDryRun?: boolean
  readonly isVersion?: boolean
}

export interface PublishedEntry {
  readonly id: string
  readonly key: string
  readonly tag: string | undefined
  readonly isNew: boolean
  readonly version: number | undefined
  readonly diagnostics: readonly PlacedDiagnostic[]
}

interface PublisherOptions {
  readonly store: Store
  readonly registry: Pick<Registry, 'follow'>
  readonly checkEntry: CheckEntry
  readonly keyPrefix: string
  readonly versions: VersionPublisher
  readonly isRecording: boolean
  readonly audit: Audit
}

/** For callers that have no access to the store, be it Redis or a folder. */
export interface Publisher {
  /** Once resolved, it is served here. @throws ENTRY_FORBIDDEN, ENTRY_INVALID, ENTRY_CHANGED, RELEASES_UNREADABLE, STORE_READ_ONLY, STORE_UNAVAILABLE */
  publish (publication: EntryPublication): Promise<PublishedEntry>
  /** Once resolved, it is gone here. @throws ENTRY_FORBIDDEN, ENTRY_NOT_FOUND, ENTRY_CHANGED, PROMPT_LABELLED, STORE_READ_ONLY, STORE_UNAVAILABLE */
  withdraw (change: EntryChange): Promise<void>
}

export function createPublisher ({ store, registry, checkEntry, keyPrefix, versions, isRecording, audit }: PublisherOptions): Publisher {
  function address ({ caller, kind, id }: EntryChange): { path: string, key: string } {
    const path = toPath(id)
    if (!mayPublish(kind, path, caller)) throw entryForbidden(caller.name, kind.key, path)
    return { path, key: pathToKey(path, kindPrefix(keyPrefix, kind.key)) }
  }

  /** Writes only if the value is still the one read; tries again if another writer, such as redis-cli, was faster. */
  async function change<T extends WriteOutcome | RemoveOutcome> (
    { kind, precondition }: EntryChange,
    key: string,
    make: (expected: Expected | undefined) => Promise<T>
  ): Promise<T> {
    let stored: StoredValue = { kind: 'missing' }
    const changed = await retryChange(MAX_ATTEMPTS, async () => {
      if (!isUnconditional(precondition)) {
        [stored = { kind: 'missing' }] = await asked(store.read([key]))
        if (!holds(precondition, kind, stored)) throw changedSince(kind, key, stored)
      }
      const outcome = await asked(make(isUnconditional(precondition) ? undefined : expectation(stored)))
      return checkOutcome(outcome, key, store.variant) ? outcome : undefined
    })
    if (changed === undefined) throw changedSince(kind, key, stored)
    return changed
  }

  return {
    async publish (publication) {
      const { generation, caller, kind, text, precondition, about, isDryRun = false, isVersion = isRecording, requestId } = publication
      const { path, key } = address(publication)
      const diagnostics = await checkEntry(generation, { kind, id: path, text }, caller)
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      if (errors.length > 0) throw entryInvalid(path, errors.map(describeDiagnostic), diagnostics.map(placed))
      if (isDryRun) {
        const [stored = { kind: 'missing' }] = await asked(store.read([key]))
        if (!holds(precondition, kind, stored)) throw changedSince(kind, key, stored)
        const isNew = stored.kind === 'missing'
        return { id: path, key, tag: contentTag(kind, text), isNew, version: undefined, diagnostics: diagnostics.map(placed) }
      }
      const { outcome, version, before, keys } = kind === promptKind && isVersion
        ? await versions.publish({ id: path, key, text, caller, precondition, about })
        : { outcome: await change(publication, key, expected => store.write(key, text, expected)), version: undefined, before: undefined, keys: [key] }
      const action = about?.from === undefined ? 'publish' : 'restore'
      audit({ action, kind: kind.key, id: path, version, from: before, note: about?.note, by: caller.name, requestId })
      await registry.follow(keys)
      return { id: path, key, tag: contentTag(kind, text), isNew: outcome === 'created', version, diagnostics: diagnostics.map(placed) }
    },
    async withdraw (withdrawal) {
      const { caller, kind, precondition, requestId } = withdrawal
      const { path, key } = address(withdrawal)
      const isRemoved = kind === promptKind
        ? await versions.withdraw({ id: path, key, caller, precondition }, isRecording)
        : await change(withdrawal, key, expected => store.remove(key, expected)) !== 'missing'
      if (!isRemoved) throw entryMissing(path, key)
      audit({ action: 'withdraw', kind: kind.key, id: path, by: caller.name, requestId })
      await registry.follow([key])
    }
  }
}

const MAX_SEGMENTS = 32

interface EntryCandidate extends NewEntry {
  readonly kind: Kind
}

/** Checks as the registry would; with an error, the entry, or a prompt that it contains, would not run. */
type CheckEntry = (generation: Generation, entry: EntryCandidate, caller: Caller) => Promise<readonly Diagnostic[]>

export function createEntryCheck ({ lintCandidate, toolReader }: { readonly lintCandidate: LintCandidate, readonly toolReader: ToolReader }): CheckEntry {
  return async function checkEntry (generation, { kind, id, text }, caller) {
    const unusable = findUnstorable(id, text)
    if (unusable.length > 0) return unusable
    const context: CheckContext = {
      toolReader,
      toolOfFunction: name => [...generation.tools.values()].find(tool => tool.definition.name === name)?.id,
      findToolProblems: uses => findToolProblems(uses, generation),
      lint: (candidate, entry) => lintCandidate(generation, { kind: candidate, ...entry }, caller)
    }
    try {
      return locate(await kind.check({ id, text }, context), text)
    } catch (error) {
      if (error instanceof RejectedEntry) return locate(error.diagnostics, text)
      throw error
    }
  }
}

export function findUnstorable (id: string, text: string): readonly Diagnostic[] {
  return [...misnamed(id), ...tooLong(text)]
}

function misnamed (id: string): readonly Diagnostic[] {
  const segments = id.split('.')
  if (segments.includes('')) return reject('KEY_INVALID', 'the id has an empty segment').diagnostics
  if (segments.length > MAX_SEGMENTS) return reject('KEY_INVALID', `the id has more than ${MAX_SEGMENTS} segments`).diagnostics
  return /\p{Cc}|\p{Cs}/u.test(id) ? reject('KEY_INVALID', 'the id has a control character').diagnostics : []
}

function tooLong (text: string): readonly Diagnostic[] {
  const bytes = Buffer.byteLength(text)
  return bytes <= MAX_VALUE_BYTES ? [] : reject('VALUE_INVALID', `the value is ${bytes} bytes long; at most ${MAX_VALUE_BYTES} are allowed`).diagnostics
}
