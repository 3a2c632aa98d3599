import { contentHash, type Json, JsonError, type JsonObject, parseJson } from '../../base/json.ts'
import { keyToPath } from '../../store/store.ts'
import type { ToolReader } from '../../tool/tool-reader.ts'
import { asWarnings, type Diagnostic, reject, RejectedEntry } from '../diagnostic.ts'
import type { EntryParser } from '../entries/entry-table.ts'
import type { TemplateCache } from '../entries/template-cache.ts'

/**
 * A hash of the content of a stored text, by which a writer notices that somebody else has changed the entry. Every replica computes the same hash,
 * also for a text that only differs in its format: so reformatting a value disturbs no writer.
 * @returns `undefined` for a text that cannot be read; no caller can have seen its content
 */
export function contentTag (kind: Kind, text: string): string | undefined {
  try {
    return contentHash(kind.normalise(kind.decode(text).value))
  } catch (error) {
    if (error instanceof RejectedEntry) return undefined
    throw error
  }
}

/** The properties in which one kind of definitions (agents, skills, plan profiles) differs from the others. */
type DefinitionKindOptions<D extends Definition> =
  Pick<DefinitionKind<D>, 'key' | 'name' | 'noun' | 'access' | 'define'> & Partial<Pick<DefinitionKind<D>, 'decode' | 'normalise' | 'file'>>

/**
 * Makes one kind of definitions (agents, skills or plan profiles) for `KINDS`, the table of kinds. An extension lists its entries of this kind under
 * `contributes`, in the field that has the name of the kind's key.
 */
export function defineKind<D extends Definition> ({
  decode = decodeJson,
  normalise = value => value,
  ...options
}: DefinitionKindOptions<D>): DefinitionKind<D> {
  return {
    ...options,
    decode,
    reading: 'whole',
    contributes: options.key,
    normalise,
    async check ({ id, text }, { findToolProblems }) {
      const { diagnostics, toolUses = [] } = options.define(id, decode(text).value, 'direct')
      return [...diagnostics, ...asWarnings(findToolProblems(toolUses))]
    },
    parser: ({ prefix }) => ({
      nameOf: key => keyToPath(key, prefix),
      async parse (key, text) {
        return options.define(keyToPath(key, prefix), decode(text).value, 'direct')
      },
      isSound: () => true,
      isUsable: () => true,
      diagnostics: ({ diagnostics }) => diagnostics
    })
  }
}

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
interface ParserContext {
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

/** The value that was read from a stored text, with warnings about the text. */
interface DecodedValue {
  readonly value: Json
  readonly diagnostics: readonly Diagnostic[]
}

const NOT_JSON: Diagnostic = {
  severity: 'warning',
  code: 'VALUE_NOT_JSON',
  message: 'the value is not JSON and is taken as text',
  hint: 'write a JSON string, with quotes'
}

/** Reads a stored text as JSON. @throws RejectedEntry */
export function decodeJson (text: string): DecodedValue {
  refuseByteOrderMark(text)
  try {
    return { value: parseJson(text), diagnostics: [] }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw reject('VALUE_INVALID', `the value is not valid JSON: ${error.reason}`, undefined, error.place)
  }
}

/**
 * Reads the stored text of a prompt: as JSON when it begins with `{`, `[` or `"`, but not with `{{`; otherwise as plain text. So broken JSON is never
 * taken for a plain text.
 * @throws RejectedEntry
 */
export function decodeTemplate (text: string): DecodedValue {
  refuseByteOrderMark(text)
  return /^\s*\{\{/.test(text) || !beginsAsJson(text) ? { value: text, diagnostics: [] } : decodeJson(text)
}

/** Reads the stored text of a shared variable: as JSON, or as plain text when it is no JSON and does not begin with `{`, `[` or `"`. @throws RejectedEntry */
export function decodeEnviron (text: string): DecodedValue {
  refuseByteOrderMark(text)
  if (beginsAsJson(text)) return decodeJson(text)
  try {
    return { value: parseJson(text), diagnostics: [] }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { value: text, diagnostics: [NOT_JSON] }
  }
}

function beginsAsJson (text: string): boolean {
  return /^\s*[{["]/.test(text)
}

function refuseByteOrderMark (text: string): void {
  if (text.startsWith('\uFEFF')) throw reject('VALUE_INVALID', 'the value begins with a byte order mark', 'store it as UTF-8 without one')
}

/**
 * Gives a stored prompt as an object. Publishers store a prompt as an object, as a bare text or as a bare list of messages.
 * @throws RejectedEntry for anything else, and for an empty text
 */
export function asPromptObject (value: Json): JsonObject {
  if (typeof value === 'string') {
    if (value.trim() === '') throw reject('VALUE_INVALID', 'the template is empty')
    return { userPrompt: value }
  }
  if (Array.isArray(value)) return { messages: value }
  if (typeof value === 'object' && value !== null) return value as JsonObject
  throw reject('VALUE_INVALID', `a prompt must be an object, a message list or a text, not ${value === null ? 'null' : `a ${typeof value}`}`)
}

/**
 * Which callers see the entries of a kind, and change them. A caller's token can have name patterns: for prompts, for shared variables (`environs`), and
 * for runs (agents, skills, plans). A caller without patterns for something is not limited there.
 * - `prompts`, `environs`: the caller's patterns for prompts, or for shared variables, decide.
 * - `runs`: the caller's patterns for runs decide. A caller without them sees an entry only if the caller has no other patterns either.
 * - `open`: every caller sees all entries.
 * - `shown`: a caller with patterns for prompts sees an entry (an extension) only if the caller sees a prompt that the entry brings.
 *
 * A caller with patterns for prompts or shared variables cannot change entries with `runs`, `open` or `shown`.
 */
type AccessRule = 'prompts' | 'environs' | 'runs' | 'open' | 'shown'

/** The fields of a kind that access control reads. */
export interface KindAccess {
  /** The kind's name in keys and folders: `templates`. */
  readonly key: string
  /** The kind's name in statuses, metrics and addresses: `prompts`. */
  readonly name: string
  readonly access: AccessRule
}

/** A registered entry that needs no linking with other entries: an agent, a skill or a plan profile. Each kind adds fields of its own. */
export interface Definition {
  /** The definition's id in its dotted form: `team.helper`. */
  readonly id: string
  /** Whether the definition has a key of its own, or comes with an extension. */
  readonly origin: 'direct' | 'extension'
  /** The object as it is stored. */
  readonly source: JsonObject
  readonly diagnostics: readonly Diagnostic[]
  /** What the definition calls: tools, agents, skills, plans. Whether they are registered is not said here: it can change while the definition does not. */
  readonly toolUses?: readonly ToolUse[]
  /** A hash of the whole definition. */
  readonly hash: string
}

/** A reference from an entry to a tool, or to an agent, skill or plan that is called like a tool; plain data. */
export interface ToolUse {
  /** The dotted id of the tool, or of the agent, skill or plan. */
  readonly tool: string
  /** The kind of the definition that `tool` names; left out when `tool` names a tool. */
  readonly kind?: 'agents' | 'skills' | 'plans'
  /** The names of the parameters for which the referring entry gives the tool a value. */
  readonly parameters: readonly string[]
}
