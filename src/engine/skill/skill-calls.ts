import type { Json, JsonObject } from '../../base/json.ts'
import type { Answer, AskedCall } from '../../llm/answer.ts'
import { parseArguments, resultMessage, unknownFunction } from '../../llm/history.ts'
import { type ReadableReply, withoutFence } from './parse-skill-response.ts'

interface SkillFunction {
  readonly about: string
  readonly parameters: Readonly<Record<string, { readonly type: 'string' | 'boolean', readonly description: string, readonly isOptional?: true }>>
  /** @param values have the declared types */
  readonly read: (values: JsonObject) => ReadableReply
}

/** UTF-16 units of an unknown parameter's name. */
const MAX_NAME = 100

const FUNCTIONS: ReadonlyMap<string, SkillFunction> = new Map<string, SkillFunction>([
  ['run_command', {
    about: 'Runs one shell command. Its result is what the command printed.',
    parameters: { command: { type: 'string', description: 'The command alone, as a shell reads it' } },
    read: values => {
      const command = textIn(values, 'command')
      return { type: 'CMD', content: `[CMD] ${command}`, command }
    }
  }],
  ['ask_user', {
    about: 'Asks the user a question and waits for the answer, which is its result.',
    parameters: {
      question: { type: 'string', description: 'The question' },
      required: { type: 'boolean', description: 'Whether it needs an answer; true unless given', isOptional: true }
    },
    read: values => {
      const [question, required] = [textIn(values, 'question'), values['required'] !== false]
      return { type: 'ASK', content: `${required ? '[ASK]' : '[ASK:optional]'} ${question}`, question, required }
    }
  }],
  ['tell_user', {
    about: 'Shows the user a message, and goes on.',
    parameters: { text: { type: 'string', description: 'The message' } },
    read: values => {
      const message = textIn(values, 'text')
      return { type: 'MESSAGE', content: `[MESSAGE] ${message}`, message }
    }
  }],
  ['finish', {
    about: 'Ends the skill.',
    parameters: { summary: { type: 'string', description: 'The last message to the user: what was done', isOptional: true } },
    read: values => {
      const message = textIn(values, 'summary') || 'Skill completed'
      return { type: 'DONE', content: `[DONE] ${message}`, message }
    }
  }]
])

export const SKILL_TOOLS: readonly JsonObject[] = Array.from(FUNCTIONS, ([name, { about, parameters }]) => ({
  type: 'function',
  function: {
    name,
    description: about,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(parameters).map(([parameter, { type, description }]) => [parameter, { type, description }])),
      required: Object.entries(parameters).flatMap(([parameter, { isOptional }]) => isOptional === true ? [] : [parameter]),
      additionalProperties: false
    }
  }
}))

/**
 * Reads a model's call of one of the functions of skills. An argument that was not declared is an error: if a folder beside the command were
 * ignored, the command would run in another folder.
 * @returns the reply that the call means; a text that says what is wrong with the arguments; `undefined` when there is no such function
 */
function readSkillCall (name: string, values: JsonObject): ReadableReply | string | undefined {
  const called = FUNCTIONS.get(name)
  if (called === undefined) return undefined
  const { parameters, read } = called
  const unknown = Object.keys(values).find(each => !Object.hasOwn(parameters, each))
  if (unknown !== undefined) return `${name} takes ${Object.keys(parameters).join(' and ')}, and no ${JSON.stringify(unknown.slice(0, MAX_NAME))}`
  for (const [parameter, { type, isOptional }] of Object.entries(parameters)) {
    const value = Object.hasOwn(values, parameter) ? values[parameter] ?? undefined : undefined
    if (value === undefined && isOptional === true) continue
    const isText = typeof value === 'string'
    if (type === 'string' ? !isText : typeof value !== 'boolean') return `${name} needs ${parameter}, a ${type}`
    if (isOptional !== true && isText && value.trim() === '') return `${name} needs ${parameter}, which is empty`
  }
  return read(values)
}

function textIn (values: JsonObject, name: string): string {
  return String(values[name] ?? '').trim()
}

/** Calls in one answer; further ones are not run. */
export const MAX_CALLS = 10

export interface SkillCall extends Pick<AskedCall, 'name' | 'isOlder'> {
  readonly id: Json
  readonly says: ReadableReply | { readonly type: 'WRONG', readonly problem: string }
  /** What the call led to, or why it was not carried out. */
  readonly result?: string
}

/** Never throws: a wrong call is `WRONG`. @param isOfOld an earlier version, which left the fence around a command */
export function parseSkillCalls ({ calls }: Pick<Answer, 'calls'>, isOfOld = false): SkillCall[] {
  return calls.map(({ arguments: text, extra: _, ...as }, index) => {
    const call = { ...as, says: readingOf(as.name, text, isOfOld) }
    return index < MAX_CALLS ? call : { ...call, result: notRun(`at most ${MAX_CALLS} calls are worked off`) }
  })
}

function readingOf (name: string, text: string, isOfOld: boolean): SkillCall['says'] {
  const values = parseArguments(text)
  const read = typeof values === 'string' ? `${name}: ${values}` : readSkillCall(name, values)
  if (typeof read === 'object' && read.type === 'CMD' && !isOfOld) {
    const command = withoutFence(read.command)
    return command === '' ? { type: 'WRONG', problem: `${name} needs command, which is empty` } : { ...read, content: `[CMD] ${command}`, command }
  }
  return read === undefined ? { type: 'WRONG', problem: unknownFunction(name) } : typeof read === 'string' ? { type: 'WRONG', problem: read } : read
}

export function problemIn (calls: readonly SkillCall[]): string | undefined {
  for (const { says } of calls.slice(0, MAX_CALLS)) if (says.type === 'WRONG') return says.problem
  return undefined
}

export function nextCall (calls: readonly SkillCall[]): SkillCall | undefined {
  return calls.find(({ result }) => result === undefined)
}

/** @param goesOn otherwise the results of later calls say that they were not run */
export function withResult (calls: readonly SkillCall[], result: string, goesOn: boolean): SkillCall[] {
  const done = nextCall(calls)
  return calls.map(call => {
    if (call === done) return { ...call, result }
    return goesOn || call.result !== undefined ? call : { ...call, result: notRun('the call before it has ended the list') }
  })
}

export function resultsOf (calls: readonly SkillCall[]): JsonObject[] {
  return calls.flatMap(({ result, ...call }) => result === undefined ? [] : [resultMessage(call, result)])
}

export function notRun (reason: string): string {
  return `Not run: ${reason}.`
}
