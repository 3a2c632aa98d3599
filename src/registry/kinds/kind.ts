import { type Json } from '../../base/json.ts'
import { type ToolReader } from '../../tool/definition/tool-reader.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type DecodedValue } from '../entries/decode-value.ts'
import { type EntryParser } from '../entries/entry-table.ts'
import { type Definition, type ToolUse } from './definition.ts'
import { type KindAccess } from './kind-access.ts'
import { type TemplateCache } from '../entries/template-cache.ts'

/**
 * One kind of registered entries, such as prompts or tools. Each kind has its folder in `kinds/` and its row in `KINDS`, the table of all kinds. The row
 * also serves as a typed key by which code asks the registry for the entries of the kind.
 */
export interface Kind extends KindAccess {
  /** The kind's name in sentences: `prompt`. */
  readonly noun: string
  /**
   * How the kind's entries are read. `whole`: all values at start. `lazy`: only names at start, and a value when it is first used. `asked`: nothing
   * at start, and from the store for each request.
   */
  readonly reading: 'whole' | 'lazy' | 'asked'
  /** The name of a file in a directory store (`SKILL.md`) whose text is the value of the folder in which the file lies. */
  readonly file?: string
  /** Whether the `.prompt` files of the format Dotprompt in a directory store are entries of this kind, too. */
  readonly hasDotprompt?: boolean
  /** Reads the value out of a stored text. @throws RejectedEntry */
  decode (text: string): DecodedValue
  /** Brings a value into its common form, in which two ways to write the same entry are equal: a prompt as a bare text and as an object. */
  normalise (value: Json): Json
  /**
   * Checks an entry before it is stored, and returns the diagnostics that the registry would give to it. An error among them refuses the entry.
   * @throws RejectedEntry
   */
  check (entry: NewEntry, context: CheckContext): Promise<readonly Diagnostic[]>
}

/** An entry that is not stored yet. */
export interface NewEntry {
  /** The entry's id in its dotted form: `team.greet`. */
  readonly id: string
  /** The text as it will be stored. */
  readonly text: string
}

/** What the check of an entry that is not stored yet works with. */
export interface CheckContext {
  readonly toolReader: ToolReader
  /** The id of the tool that has this function name; `undefined` when there is none that the publisher is allowed to see. */
  toolOfFunction (name: string): string | undefined
  /** The problems with the tools that an entry names, each an error. A tool that the publisher is not allowed to see counts as missing. */
  findToolProblems (uses: readonly ToolUse[]): readonly Diagnostic[]
  /** Checks the text of an entry in a process of its own, since a stranger can send a text that takes very long to parse. */
  lint (kind: KindAccess['key'], entry: NewEntry): Promise<readonly Diagnostic[]>
}

/** A kind whose entries are all read at start, and parsed. */
export interface EntryKind<E extends Entry = Entry> extends Kind {
  readonly reading: 'whole'
  parser (context: ParserContext): EntryParser<E>
}

/** The fields that every parsed entry has. */
export interface Entry {
  readonly id: string
  readonly hash: string
}

/** The parts of the registry that parsers of entries use. */
export interface ParserContext {
  /** The prefix of all keys of the kind: `shenma:templates:`. */
  readonly prefix: string
  readonly cache: TemplateCache
  readonly toolReader: ToolReader
  /** The kinds of definitions, since an extension can bring entries of them, too. */
  readonly definitionKinds: readonly DefinitionKind[]
}

/** A kind whose entries need no linking with other entries: agents, skills, plan profiles. Extensions can bring them, too. */
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
