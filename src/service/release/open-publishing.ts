import { type Log } from '../../base/log.ts'
import { type Config, labelsIn } from '../../config/config.ts'
import { type Environs } from '../../registry/kinds/environ/environs.ts'
import { type Registry } from '../../registry/registry.ts'
import { type Store } from '../../store/store.ts'
import { type ToolReader } from '../../tool/definition/tool-reader.ts'
import { createAudit } from '../audit.ts'
import { createCandidateParser } from '../lint/candidate-parser.ts'
import { createLinter } from '../lint/lint-candidate.ts'
import { createEntryCheck } from '../publish/check-entry.ts'
import { createPublisher, type Publisher } from '../publish/publish-entry.ts'
import { VersionPublisher } from '../versions/publish-version.ts'
import { RecordStore } from '../versions/record-store.ts'
import { type VersionReader } from '../versions/version-reader.ts'
import { Releases } from './releases.ts'

export interface OpenPublishingOptions {
  readonly config: Config
  readonly store: Store
  readonly registry: Registry
  readonly environs: Environs
  readonly toolReader: ToolReader
  readonly versions: VersionReader
  readonly log: Log
  /** Called with the keys that this process has written or removed, before the registry reads them again. */
  readonly onChanged: (keys: readonly string[]) => void
  /** Called with each label that was moved or removed. */
  readonly onMoved?: ((label: string) => void) | undefined
}

/** The operations that write to the store: on entries (prompts, tools, agents …), versions of prompts, and labels. */
export interface Publishing {
  readonly publisher: Publisher
  readonly releases: Releases
  /** Ends the process that parses new entries. */
  close (): Promise<void>
}

/** Sets up the use cases that write registrations: entries, versions of prompts, and labels. */
export function openPublishing ({ config, store, registry, environs, toolReader, versions, log, onChanged, onMoved }: OpenPublishingOptions): Publishing {
  const keyPrefix = config.KEY_PREFIX
  const parser = createCandidateParser()
  const records = new RecordStore(store, keyPrefix)
  const audit = createAudit(log, onMoved)

  async function follow (keys: readonly string[]): Promise<void> {
    onChanged(keys)
    await registry.follow(keys)
  }

  const publisher = createPublisher({
    store,
    registry: { follow },
    checkEntry: createEntryCheck({ lintCandidate: createLinter({ parser, environs, versions }), toolReader }),
    keyPrefix,
    versions: new VersionPublisher({ store, keyPrefix, records, pinsOf: id => registry.pinsOf(id) }),
    isRecording: config.VERSIONS === 'http' || (config.VERSIONS === 'auto' && config.REDIS_URL !== ''),
    audit
  })
  const protectedLabels = new Set(labelsIn(config.PROTECTED_LABELS))
  const releases = new Releases({ store, keyPrefix, registry: { follow }, records, versions, publisher, protectedLabels, audit })
  return { publisher, releases, close: () => parser.close() }
}
