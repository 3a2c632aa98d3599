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
  /** The kind's name in sentences: `prompt`. */
  readonly noun: string
  /** `lazy`: only names are loaded, and a value when it is first used. `asked`: nothing is loaded, and each call reads the store. */
  readonly reading: 'whole' | 'lazy' | 'asked'
  /** The name of the file in a directory store whose text is the value of the folder around it. */
  readonly file?: string
  /** Whether Dotprompt's `.prompt` files in a folder are entries of this kind, too. */
  readonly hasDotprompt?: boolean
  /** Reads the value out of a stored text. @throws RejectedEntry */
  decode (text: string): DecodedValue
  /** The common form of a value: two ways to write the same entry have the same one. */
  normalise (value: Json): Json
  /** Tells what the registry would say of an entry, before the entry is stored; an error refuses it. @throws RejectedEntry */
  check (entry: NewEntry, context: CheckContext): Promise<readonly Diagnostic[]>
}

/** An entry that is not stored yet. */
export interface NewEntry {
  /** The dotted id. */
  readonly id: string
  /** The text as it will be stored. */
  readonly text: string
}

/** The tools and lookups by which entries are checked before they are stored. */
export interface CheckContext {
  readonly toolReader: ToolReader
  /** The id of the tool that has a function name, among the tools that the publisher may see. */
  toolOfFunction (name: string): string | undefined
  /** The problems of the tools that an entry names, as far as the publisher may see tools; each is an error. */
  findToolProblems (uses: readonly ToolUse[]): readonly Diagnostic[]
  /** Lints an entry in a process of its own, since a stranger may make the parse costly. */
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

/** The tools that parsers of entries work with. */
export interface ParserContext {
  /** What the kind's keys begin with: `shenma:templates:`. */
  readonly prefix: string
  readonly cache: TemplateCache
  readonly toolReader: ToolReader
  /** The kinds of which extensions bring entries, too. */
  readonly definitionKinds: readonly DefinitionKind[]
}

/** A kind whose entries stand for themselves: nothing is linked with them. Extensions can bring them. */
export interface DefinitionKind<D extends Definition = Definition> extends EntryKind<D> {
  /** The field of an extension's `contributes` that holds entries of this kind. */
  readonly contributes: string
  /** Makes a definition from its stored value. @throws RejectedEntry */
  define (id: string, value: Json, origin: Definition['origin']): D
}

export function isEntryKind (kind: Kind): kind is EntryKind {
  return kind.reading === 'whole'
}

export function isDefinitionKind (kind: Kind): kind is DefinitionKind {
  return 'define' in kind
}
