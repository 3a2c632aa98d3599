import { type Json } from '../../base/json.ts'
import { type ToolReader } from '../../tool/definition/tool-reader.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type DecodedValue } from '../entries/decode-value.ts'
import { type EntryParser } from '../entries/entry-table.ts'
import { type Definition, type ToolUse } from './definition.ts'
import { type KindAccess } from './kind-access.ts'
import { type TemplateCache } from '../entries/template-cache.ts'

/**
 * One kind of things that are registered: its row in the table that every loop over kinds reads. A kind is one folder in
 * `kinds/`, and its row. A row is also the typed token by which its entries are asked for.
 */
export interface Kind extends KindAccess {
  /** In sentences: `prompt`. */
  readonly noun: string
  /** `lazy`: only names are loaded, and a value when it is first used. `asked`: nothing is loaded, and each call reads the store. */
  readonly reading: 'whole' | 'lazy' | 'asked'
  /** In a folder: the name of a file that is, as it is, the value of the folder that it is in. */
  readonly file?: string
  /** Whether Dotprompt's `.prompt` files in a folder are entries of this kind, too. */
  readonly hasDotprompt?: boolean
  /** What a stored text means. @throws RejectedEntry */
  decode (text: string): DecodedValue
  /** The value that two ways to write the same entry down share. */
  normalise (value: Json): Json
  /** What the registry would say of an entry, before it is stored; an error refuses it. @throws RejectedEntry */
  check (entry: NewEntry, context: CheckContext): Promise<readonly Diagnostic[]>
}

/** An entry that is not stored yet. */
export interface NewEntry {
  /** Dotted. */
  readonly id: string
  /** As it will be stored. */
  readonly text: string
}

/** What entries are checked with before they are stored. */
export interface CheckContext {
  readonly toolReader: ToolReader
  /** The id of the tool with a function name, among those that the publisher sees. */
  toolOfFunction (name: string): string | undefined
  /** What is wrong with the tools that an entry names, as the publisher sees them; each an error. */
  findToolProblems (uses: readonly ToolUse[]): readonly Diagnostic[]
  /** Parses in a process of its own, for what a stranger may make costly. */
  lint (kind: KindAccess['key'], entry: NewEntry): Promise<readonly Diagnostic[]>
}

/** A kind whose entries are read as a whole, and parsed. */
export interface EntryKind<E extends Entry = Entry> extends Kind {
  readonly reading: 'whole'
  parser (context: ParserContext): EntryParser<E>
}

/** What every parsed entry has. */
export interface Entry {
  readonly id: string
  readonly hash: string
}

/** What parsers work with. */
export interface ParserContext {
  /** What the kind's keys begin with: `shenma:templates:`. */
  readonly prefix: string
  readonly cache: TemplateCache
  readonly toolReader: ToolReader
  /** Of these, extensions bring entries too. */
  readonly definitionKinds: readonly DefinitionKind[]
}

/** A kind whose entries stand for themselves: nothing is linked with them. Extensions can bring them. */
export interface DefinitionKind<D extends Definition = Definition> extends EntryKind<D> {
  /** The field of `contributes` that has them. */
  readonly contributes: string
  /** @throws RejectedEntry */
  define (id: string, value: Json, origin: Definition['origin']): D
}

export function isEntryKind (kind: Kind): kind is EntryKind {
  return kind.reading === 'whole'
}

export function isDefinitionKind (kind: Kind): kind is DefinitionKind {
  return 'define' in kind
}
