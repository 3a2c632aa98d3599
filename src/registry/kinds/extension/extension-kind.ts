import { decodeJson } from '../../entries/decode-value.ts'
import { type EntryKind } from '../kind.ts'
import { type ExtensionEntry, extensionParser } from './extension-entry.ts'

/** The kind of entries that are extensions (packages of prompts and other entries), stored under `shenma:extensions:*`. */
export const extensionKind: EntryKind<ExtensionEntry> = {
  key: 'extensions',
  name: 'extensions',
  noun: 'extension',
  reading: 'whole',
  // Not `open`: nobody knows what an unreadable extension holds, perhaps prompts that the caller is not allowed to see.
  access: 'shown',
  decode: decodeJson,
  normalise: value => value,
  check: (entry, { lint }) => lint('extensions', entry),
  parser: ({ prefix, cache, definitionKinds }) => extensionParser(prefix, cache, definitionKinds)
}
