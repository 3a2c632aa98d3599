import { isJsonObject, type Json, type JsonObject, ownField, parseJson, stringifyJson, textOf } from '../../base/json.ts'
import { yamlToJson } from '../../store/decode-value.ts'
import type { Diagnostic } from '../diagnostic.ts'

/** Plain data with all defaults filled in, because a session keeps a copy of it in its log. */
export interface SkillOptions {
  /** Without a required one the start is refused. */
  readonly params: ReadonlyArray<{ readonly name: string, readonly description: string, readonly required: boolean }>
  readonly history: 'full' | 'last_n' | 'system_only'
  readonly historyMax: number
  /** `''` leaves the choice to the service. */
  readonly execution: Execution | ''
  /** The operator's target, unless a start names another; `''` leaves the choice to the service. */
  readonly target: string
  readonly maxSteps: number
  /** How the model says what comes next: by calling a function, or by a tag such as `[CMD]`. */
  readonly protocol: Protocol
  /** The longest time of one command, in seconds. */
  readonly timeout: number
  /** `''` leaves the choice to the service. */
  readonly language: 'en' | 'ru' | ''
}

export type Protocol = 'tools' | 'text'

/** `manual`: the user runs them. `approve`: the service, each after a person's approval. `auto`: the service. */
export type Execution = 'manual' | 'approve' | 'auto'

/** Of any skill, and the default. */
const MAX_STEPS = 100

/** In seconds: the default, and the most that a skill can set. */
const [TIMEOUT, MAX_TIMEOUT] = [120, 600]

const HISTORY_MODES = ['full', 'last_n', 'system_only'] as const
export const EXECUTIONS = ['manual', 'approve', 'auto'] as const
const PROTOCOLS = ['tools', 'text'] as const
const LANGUAGES = ['en', 'ru'] as const

/** From the fields or `metadata`. A wrong value gets the default: other programs perhaps use the name for something else. */
export function readSkillOptions (source: JsonObject): SkillOptions {
  const read = (name: string): Json | undefined => ownField(source, name) ?? ownField(ownField(source, 'metadata'), name)
  return {
    params: readParams(read('params')),
    history: oneOf(HISTORY_MODES, read('history_mode')) ?? 'full',
    historyMax: integerIn(read('history_max'), 200) ?? 10,
    execution: oneOf(EXECUTIONS, read('execution')) ?? '',
    target: textOf(read('target')),
    maxSteps: integerIn(read('maxSteps'), MAX_STEPS) ?? MAX_STEPS,
    protocol: oneOf(PROTOCOLS, read('protocol')) ?? 'tools',
    timeout: integerIn(read('timeout'), MAX_TIMEOUT) ?? TIMEOUT,
    language: oneOf(LANGUAGES, read('language')) ?? ''
  }
}

function readParams (given: Json | undefined) {
  if (!Array.isArray(given)) return []
  return given.flatMap((each: Json) => {
    if (!isJsonObject(each)) return []
    const { name, description, required } = each
    if (typeof name !== 'string' || name === '') return []
    return [{ name, description: textOf(description), required: required === true }]
  })
}

function oneOf<T extends string> (allowed: readonly T[], given: Json | undefined): T | undefined {
  return allowed.find(each => each === given)
}

/** Digits as text are accepted: the Agent Skills specification has only texts in `metadata`. */
function integerIn (given: Json | undefined, most: number): number | undefined {
  const number = typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) : given
  return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= most ? number : undefined
}

const FRONT_MATTER = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

interface SkillText {
  readonly source: JsonObject
  /** With its lines of `---`; empty where there is none. */
  readonly head: string
  /** `source` has only the body when there is a problem. */
  readonly problem?: Diagnostic
}

/** Never throws: unreadable front matter gives a `problem` and no fields. */
export function readSkillText (text: string): SkillText {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? []
  const body = text.slice(whole.length)
  const without = (problem: Diagnostic): SkillText => ({ source: { body }, head: whole, problem })
  if (whole === '') return without(unusable(text.startsWith('---') ? 'the front matter is not closed' : 'there is no front matter'))
  if (yaml.trim() === '') return without(unusable('the front matter is empty'))
  const read = yamlToJson(yaml)
  if (read.kind !== 'text') {
    // A line of `---` stands above the YAML, so its line numbers are one too low.
    const place = read.kind === 'bad' && read.place !== undefined ? { line: read.place.line + 1, column: read.place.column } : {}
    return without({ ...unusable(`the front matter ${read.kind === 'bad' ? read.reason : 'is empty'}`), ...place })
  }
  const fields: Json = parseJson(read.text)
  if (!isJsonObject(fields)) return without(unusable('the front matter is no map of fields'))
  return { source: { ...fields, body }, head: whole }
}

/** `head` as it is stored; empty for a skill stored as JSON. */
export function wholeSkillText (head: string, { body, ...fields }: JsonObject): string {
  // JSON is valid YAML, so the values can be written as JSON.
  const lines = Object.entries(fields).map(([name, value]) => `${/^[\w-]+$/.test(name) ? name : stringifyJson(name)}: ${stringifyJson(value)}\n`)
  return `${head === '' ? `---\n${lines.join('')}---\n` : head}${String(body)}`
}

function unusable (message: string): Diagnostic {
  return { severity: 'error', code: 'FRONT_MATTER', message, hint: 'begin with ---, name: and description: in YAML, and --- again' }
}
