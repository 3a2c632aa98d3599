import type { Json, JsonObject } from '../../base/json.ts'
import type { Answer, AskedCall } from '../../llm/answer.ts'
import { parseArguments, resultMessage, unknownFunction } from '../../llm/history.ts'
import { type ReadableReply, withoutFence } from './parse-skill-response.ts'

/** A function that a skill's model is offered, such as `run_command` or `ask_user`. */
interface SkillFunction {
  readonly about: string
  /** All parameters of the function, by name. */
  readonly parameters: Readonly<Record<string, { readonly type: 'string' | 'boolean', readonly description: string, readonly isOptional?: true }>>
  /** Turns a call of the function into a reply (command, question, message, end). @param values arguments that have the declared types */
  readonly read: (values: JsonObject) => ReadableReply
}

/** The length to which an unknown parameter name is cut before it is repeated to the model, in UTF-16 units. */
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

/** The functions of skills, as declared in a request to the model. */
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

/** The most function calls that a skill carries out for one answer of the model. Further calls are not run. */
export const MAX_CALLS = 10

/** A function call in the model's last answer, read as one of the replies of a skill (command, question, message, end). */
export interface SkillCall extends Pick<AskedCall, 'name' | 'isOlder'> {
  readonly id: Json
  /** The reply that the call means, or the problem with the call. */
  readonly says: ReadableReply | { readonly type: 'WRONG', readonly problem: string }
  /** The result that the model is told: what the call led to, or why it was not carried out; absent until then. */
  readonly result?: string
}

/**
 * Reads the function calls in an answer of a skill's model, in order. It never throws: a wrong call has a `says` of the type `WRONG`.
 * @param isOfOld whether the session is of an earlier version, which left the fence around a command
 */
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

/** The problem of the first function call that cannot be read; `undefined` when all can be read. */
export function problemIn (calls: readonly SkillCall[]): string | undefined {
  for (const { says } of calls.slice(0, MAX_CALLS)) if (says.type === 'WRONG') return says.problem
  return undefined
}

/** The next function call to carry out: the first one without a result. */
export function nextCall (calls: readonly SkillCall[]): SkillCall | undefined {
  return calls.find(({ result }) => result === undefined)
}

/**
 * Copies a list of function calls. The first call without a result gets `result`.
 * @param goesOn whether the calls after that call are carried out too; otherwise their result says that they were not run
 */
export function withResult (calls: readonly SkillCall[], result: string, goesOn: boolean): SkillCall[] {
  const done = nextCall(calls)
  return calls.map(call => {
    if (call === done) return { ...call, result }
    return goesOn || call.result !== undefined ? call : { ...call, result: notRun('the call before it has ended the list') }
  })
}

/** The messages that tell the model the results of its function calls. */
export function resultsOf (calls: readonly SkillCall[]): JsonObject[] {
  return calls.flatMap(({ result, ...call }) => result === undefined ? [] : [resultMessage(call, result)])
}

/** The result of a function call that was not carried out, as the model reads it. */
export function notRun (reason: string): string {
  return `Not run: ${reason}.`
}
