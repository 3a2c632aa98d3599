import { contentHash, type Json } from '../../base/json.ts'
import { decodeEnviron, decodeJson, decodeTemplate } from '../../registry/entries/decode-value.ts'
import { asPromptObject } from '../../registry/kinds/prompt/as-prompt-object.ts'
import { readSkillText } from '../../registry/kinds/skill/skill-text.ts'
import { type KeyKind } from '../../store/keys.ts'
import { objectOf } from '../json-members.ts'

/** One kind of what is registered, as the command line knows it. */
export interface EntryKind extends KeyKind {
  /** The name of the kind in listings: `prompts` for `/api/prompts`. */
  readonly name: string
  /** The group of commands of the kind: `prompt`. */
  readonly command: string
  /** Another name of that group. */
  readonly alias?: string
  readonly noun: string
  /** The path of one entry, below `/api`. */
  readonly path: readonly string[]
  /** The segment of the path behind the id; left out for none. */
  readonly below?: string
  /** The columns of a listing; the first is the id. */
  readonly columns: readonly string[]
  /** Whether a plain text is an entry. */
  readonly takesText: boolean
  /** An entry as it was registered, out of the reply of its GET. */
  registeredIn (reply: Json): Json
  /** What a stored text means, however it is written. Throws what the service says of one that cannot be read. */
  read (text: string): Json
}

const without = (...added: readonly string[]) => (reply: Json): Json => {
  return Object.fromEntries(Object.entries(objectOf(reply)).filter(([name]) => !added.includes(name)))
}
const readJson = (text: string): Json => decodeJson(text).value

const DEFINITION = { columns: ['id', 'origin', 'description'], takesText: false, registeredIn: without('id', 'origin', 'diagnostics'), read: readJson }

/** Every kind, in an order in which each finds what it needs: tools and shared variables before prompts, and those before their tests. */
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

/** The hash by which two ways to write the same are one: the service's entity tag. Throws for a text that cannot be read. */
export function tagOf (kind: EntryKind, text: string): string {
  return contentHash(kind.read(text))
}

function readSkill (text: string): Json {
  const { value } = decodeTemplate(text)
  return typeof value === 'string' ? readSkillText(value).source : value
}
