import { type JsonObject } from '../../base/json.ts'
import { type ReadableReply } from './parse-skill-response.ts'

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
export function readSkillCall (name: string, values: JsonObject): ReadableReply | string | undefined {
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
