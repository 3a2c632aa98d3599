import { contentHash, type Json, JsonError, type JsonObject, parseJson } from '../../base/json.ts'
import { keyToPath } from '../../store/store.ts'
import type { ToolReader } from '../../tool/tool-reader.ts'
import { asWarnings, type Diagnostic, reject, RejectedEntry } from '../diagnostic.ts'
import type { EntryParser } from '../entries/entry-table.ts'
import type { TemplateCache } from '../entries/template-cache.ts'

/** Equal on every replica and for reformatted texts, so reformatting disturbs no writer. `undefined` for an unreadable text. */
export function contentTag (kind: Kind, text: string): string | undefined {
  try {
    return contentHash(kind.normalise(kind.decode(text).value))
  } catch (error) {
    if (error instanceof RejectedEntry) return undefined
    throw error
  }
}

/** An extension lists its entries of this kind under `contributes`, in the field named after the kind's key. */
export function defineKind<D extends Definition> ({
  decode = decodeJson,
  normalise = value => value,
  ...options
}: Pick<DefinitionKind<D>, 'key' | 'name' | 'noun' | 'access' | 'define'> & Partial<
  Pick<DefinitionKind<D>, 'decode' | 'normalise' | 'file'>
>): DefinitionKind<D> {
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

/** A kind has its folder in `kinds/` and its row in `KINDS`, which is also the typed key by which the registry is asked for its entries. */
export interface Kind extends KindAccess {
  /** In sentences: `prompt`. */
  readonly noun: string
  /** `whole`: all values at start. `lazy`: names at start, a value when it is first used. `asked`: from the store for each request. */
  readonly reading: 'whole' | 'lazy' | 'asked'
  /** A file such as `SKILL.md`, whose text is the value of the folder around it. */
  readonly file?: string
  /** `.prompt` files of a directory store are entries of this kind, too. */
  readonly hasDotprompt?: boolean
  /** @throws RejectedEntry */
  decode (text: string): DecodedValue
  /** Two ways to write the same entry become equal: a prompt as a bare text and as an object. */
  normalise (value: Json): Json
  /** Gives the registry's diagnostics before the entry is stored; an error among them refuses it. @throws RejectedEntry */
  check (entry: NewEntry, context: CheckContext): Promise<readonly Diagnostic[]>
}

export interface NewEntry {
  readonly id: string
  readonly text: string
}

export interface CheckContext {
  readonly toolReader: ToolReader
  /** `undefined` when there is none that the publisher is allowed to see. */
  toolOfFunction (name: string): string | undefined
  /** A tool that the publisher is not allowed to see counts as missing. */
  findToolProblems (uses: readonly ToolUse[]): readonly Diagnostic[]
  /** In a process of its own, since a stranger's text can take very long to parse. */
  lint (kind: KindAccess['key'], entry: NewEntry): Promise<readonly Diagnostic[]>
}

export interface EntryKind<E extends Entry = Entry> extends Kind {
  readonly reading: 'whole'
  parser (context: {
    /** `shenma:templates:` */
    readonly prefix: string
    readonly cache: TemplateCache
    readonly toolReader: ToolReader
    readonly definitionKinds: readonly DefinitionKind[]
  }): EntryParser<E>
}

export interface Entry {
  readonly id: string
  readonly hash: string
}

/** Needs no linking with other entries; extensions can bring them, too. */
export interface DefinitionKind<D extends Definition = Definition> extends EntryKind<D> {
  /** In an extension's `contributes`. */
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

/** @throws RejectedEntry */
export function decodeJson (text: string): DecodedValue {
  refuseByteOrderMark(text)
  try {
    return { value: parseJson(text), diagnostics: [] }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw reject('VALUE_INVALID', `the value is not valid JSON: ${error.reason}`, undefined, error.place)
  }
}

/** JSON when it begins with `{`, `[` or `"`, but not `{{`: broken JSON is never taken for plain text. @throws RejectedEntry */
export function decodeTemplate (text: string): DecodedValue {
  refuseByteOrderMark(text)
  return /^\s*\{\{/.test(text) || !beginsAsJson(text) ? { value: text, diagnostics: [] } : decodeJson(text)
}

/** Plain text when it is no JSON and does not begin with `{`, `[` or `"`. */
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

/** Publishers also store a bare text or a list of messages. @throws RejectedEntry for anything else, and for an empty text */
export function asPromptObject (value: Json): JsonObject {
  if (typeof value === 'string') {
    if (value.trim() === '') throw reject('VALUE_INVALID', 'the template is empty')
    return { userPrompt: value }
  }
  if (Array.isArray(value)) return { messages: value }
  if (typeof value === 'object' && value !== null) return value as JsonObject
  throw reject('VALUE_INVALID', `a prompt must be an object, a message list or a text, not ${value === null ? 'null' : `a ${typeof value}`}`)
}

export interface KindAccess {
  /** In keys and folders: `templates`. */
  readonly key: string
  /** In statuses, metrics and addresses: `prompts`. */
  readonly name: string
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
  readonly access: 'prompts' | 'environs' | 'runs' | 'open' | 'shown'
}

/** Needs no linking with other entries; each kind adds fields of its own. */
export interface Definition {
  readonly id: string
  readonly origin: 'direct' | 'extension'
  readonly source: JsonObject
  readonly diagnostics: readonly Diagnostic[]
  /** Whether these are registered can change while the definition does not. */
  readonly toolUses?: readonly ToolUse[]
  readonly hash: string
}

export interface ToolUse {
  readonly tool: string
  readonly kind?: 'agents' | 'skills' | 'plans'
  readonly parameters: readonly string[]
}
