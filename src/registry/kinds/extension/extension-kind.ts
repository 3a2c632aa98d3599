import { decodeJson } from '../../entries/decode-value.ts'
import { type EntryKind } from '../kind.ts'
import { type ExtensionEntry, extensionParser } from './extension-entry.ts'

/** Extensions, `shenma:extensions:*`. */
export const extensionKind: EntryKind<ExtensionEntry> = {
  key: 'extensions',
  name: 'extensions',
  noun: 'extension',
  reading: 'whole',
  // What is in an extension that cannot be read is not known; its prompts may be anybody's.
  access: 'shown',
  decode: decodeJson,
  normalise: value => value,
  check: (entry, { lint }) => lint('extensions', entry),
  parser: ({ prefix, cache, definitionKinds }) => extensionParser(prefix, cache, definitionKinds)
}
