import { contentHash, type Json } from '../../base/json.ts'
import { decodeEnviron, decodeJson, decodeTemplate } from '../../registry/entries/decode-value.ts'
import { asPromptObject } from '../../registry/kinds/prompt/as-prompt-object.ts'
import { readSkillText } from '../../registry/kinds/skill/skill-text.ts'
import { type KeyKind } from '../../store/keys.ts'
import { objectOf } from '../json-members.ts'

/** One kind of entries (prompts, tools, agents, …), as the command line knows it: its commands, its paths in the API, its columns. */
export interface EntryKind extends KeyKind {
  /** The name of the kind in listings: `prompts` for `/api/prompts`. */
  readonly name: string
  /** The name of the kind's group of commands: `prompt` for `aps prompt …`. */
  readonly command: string
  /** Another name of the group of commands. */
  readonly alias?: string
  readonly noun: string
  /** The segments of the API path before the id of an entry, below `/api`. */
  readonly path: readonly string[]
  /** The segment of the API path after the id, such as `tests`; left out for none. */
  readonly below?: string
  /** The columns of a listing; the first is the id. */
  readonly columns: readonly string[]
  /** Whether a plain text, not only JSON, can be an entry of the kind. */
  readonly takesText: boolean
  /** Takes the entry's value, as it was registered, out of the reply to a GET of the entry. The reply can have more members, such as diagnostics. */
  registeredIn (reply: Json): Json
  /**
   * Parses the stored text of an entry, written as JSON, YAML or plain text, into its value. Throws the same error as the service for a text
   * that cannot be parsed.
   */
  read (text: string): Json
}

const without = (...added: readonly string[]) => (reply: Json): Json => {
  return Object.fromEntries(Object.entries(objectOf(reply)).filter(([name]) => !added.includes(name)))
}
const readJson = (text: string): Json => decodeJson(text).value

const DEFINITION = { columns: ['id', 'origin', 'description'], takesText: false, registeredIn: without('id', 'origin', 'diagnostics'), read: readJson }

/**
 * All kinds, in the order in which entries are written: tools and shared variables come before the prompts that use them, and prompts
 * before their tests.
 */
export const ENTRY_KINDS: readonly EntryKind[] = [
  {
    key: 'tools',
    name: 'tools',
    command: 'tool',
    noun: 'tool',
    path: ['tools'],
    columns: ['id', 'function', 'type', 'description'],
    takesText: false,
    registeredIn: reply => objectOf(objectOf(reply)['registration']),
    read: readJson
  },
  {
    key: 'environs',
    name: 'environs',
    command: 'environ',
    alias: 'variable',
    noun: 'shared variable',
    path: ['environs'],
    columns: ['id'],
    takesText: true,
    registeredIn: reply => reply,
    read: text => decodeEnviron(text).value
  },
  {
    key: 'templates',
    hasDotprompt: true,
    name: 'prompts',
    command: 'prompt',
    noun: 'prompt',
    path: ['prompts'],
    columns: ['id', 'state', 'syntax', 'form', 'description'],
    takesText: true,
    registeredIn: reply => objectOf(objectOf(reply)['prompt']),
    read: text => asPromptObject(decodeTemplate(text).value)
  },
  {
    key: 'extensions',
    name: 'extensions',
    command: 'extension',
    noun: 'extension',
    path: ['extensions'],
    columns: ['id', 'version', 'state', 'description'],
    takesText: false,
    registeredIn: without('id', 'state', 'diagnostics'),
    read: readJson
  },
  { ...DEFINITION, key: 'agents', name: 'agents', command: 'agents', noun: 'agent', path: ['agents'] },
  {
    ...DEFINITION,
    key: 'skills',
    file: 'SKILL.md',
    name: 'skills',
    command: 'skills',
    noun: 'skill',
    path: ['skills', 'definitions'],
    takesText: true,
    read: readSkill
  },
  { ...DEFINITION, key: 'plans', name: 'plans', command: 'plans', noun: 'plan profile', path: ['plans', 'profiles'] },
  {
    key: 'tests',
    name: 'tests',
    command: 'tests',
    noun: 'list of tests',
    path: ['prompts'],
    below: 'tests',
    columns: ['id', 'cases'],
    takesText: false,
    registeredIn: reply => objectOf(reply)['tests'] ?? null,
    read: readJson
  }
]

/**
 * The hash of an entry's value, which the service sends as its ETag. Two spellings of one value have one hash. Throws for a text that
 * cannot be parsed.
 */
export function tagOf (kind: EntryKind, text: string): string {
  return contentHash(kind.read(text))
}

function readSkill (text: string): Json {
  const { value } = decodeTemplate(text)
  return typeof value === 'string' ? readSkillText(value).source : value
}
