import { modelNames } from '../../../tool/definition/own-names.ts'
import { toPath } from '../../../store/keys.ts'
import { type AgentChild, type AgentParameter, type ChildParameter } from './agent-setting.ts'

/**
 * The defaults for a call of an agent, skill or plan whose author gives a budget with only one of the two numbers. The call reserves its budget from
 * the budget of the agent that makes the call.
 */
const BUDGET = { steps: 50, tokens: 200_000 }

/** A function that an agent offers its model, as the agent's author writes it. Exactly one of the first four fields says what the function calls. */
export interface GivenFunction {
  readonly tool?: string
  readonly agent?: string
  readonly skill?: string
  readonly plan?: string
  readonly name?: string
  readonly description?: string
  readonly parameters?: Readonly<Record<string, Partial<AgentParameter> & { readonly required?: boolean }>>
  readonly input?: string
  readonly budget?: Partial<typeof BUDGET>
  readonly workspace?: string
  readonly target?: string
}

/** For each field that names what a function of an agent calls, the key of the kind of the called entry. `tool` has none: `parseTool` reads such functions. */
export const FUNCTION_KINDS = { tool: undefined, agent: 'agents', skill: 'skills', plan: 'plans' } as const

type FunctionKind = keyof typeof FUNCTION_KINDS

/** The fields of a function that name what it calls (`tool`, `agent`, `skill`, `plan`). A correct function has exactly one of them. */
export function kindsOf (given: GivenFunction): FunctionKind[] {
  return (Object.keys(FUNCTION_KINDS) as FunctionKind[]).filter(kind => given[kind] !== undefined)
}

/**
 * The fields that are allowed only in some functions of an agent, each with the kinds of functions that can have it. A function with the field `agent`
 * is of the kind `agent`, and so on.
 */
const FIELDS: ReadonlyMap<string, readonly FunctionKind[]> = new Map<string, readonly FunctionKind[]>([
  ...['health', 'label', 'errorLabel', 'failed', 'arguments', 'show'].map((name): [string, readonly FunctionKind[]] => [name, ['tool']]),
  ['parameters', ['tool', 'agent', 'plan']],
  ['input', ['agent', 'skill', 'plan']],
  ['budget', ['agent', 'skill', 'plan']],
  ['workspace', ['plan']],
  ['target', ['skill']]
])

/** The mistakes in a function that an agent offers its model, in words. @param index the function's place in the agent's `tools`, from 0 */
export function mistakesOf (given: GivenFunction, index: number): string[] {
  const where = `tools.${index}${given.name === undefined ? '' : ` ("${given.name}")`}`
  const kinds = kindsOf(given)
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) {
    return [`${where}: expected exactly one of tool, agent, skill and plan, got ${kind === undefined ? 'none' : kinds.join(' and ')}`]
  }
  const misplaced = Object.keys(given).filter(name => FIELDS.get(name)?.includes(kind) === false)
  const needsTask = given.input === undefined && given.parameters !== undefined && !Object.hasOwn(given.parameters, 'task')
  return [
    ...misplaced.map(name => `${where}: "${name}" is no field of a function that is ${kind === 'agent' ? 'an agent' : `a ${kind}`}`),
    ...kind === 'plan' && given.workspace === undefined ? [`${where}: a plan needs "workspace", one of the operator's`] : [],
    ...(kind === 'agent' || kind === 'plan') && needsTask
      ? [`${where}: without a parameter "task" it needs "input", the text that ${kind === 'agent' ? 'the agent is asked' : 'the plan is about'}`]
      : []
  ]
}

/** Reads a function of an agent that calls an agent, a skill or a plan; `undefined` for one that calls a tool. @param given a function without mistakes */
export function parseChild (given: GivenFunction): AgentChild | undefined {
  const [field = 'tool'] = kindsOf(given)
  const kind = FUNCTION_KINDS[field]
  const id = given[field]
  if (kind === undefined || id === undefined) return undefined
  const { name = id, description, parameters, budget, workspace, target } = given
  const place = workspace ?? target
  return {
    name,
    kind,
    id: toPath(id),
    ...(description === undefined ? {} : { description }),
    parameters: kind === 'skills' ? {} : parametersOf(parameters),
    input: given.input ?? (kind === 'skills' ? '' : '{{task}}'),
    ...(budget === undefined ? {} : { budget: { ...BUDGET, ...budget } }),
    ...(place === undefined ? {} : { place })
  }
}

function parametersOf (given: GivenFunction['parameters'] = { task: { description: 'What to do, or to find out, in full: nothing else is known there' } }): AgentChild['parameters'] {
  return Object.fromEntries(Object.entries(given).map(([name, { description, type = 'string', maxLength, required = true }]): [string, ChildParameter] => [
    name,
    { type, required, ...(description === undefined ? {} : { description }), ...(maxLength === undefined ? {} : { maxLength }) }
  ]))
}

/**
 * Gives a name to each function of an agent that has none: that of the tool, agent, skill or plan which it calls, as models accept it. Functions whose
 * names become one get names of their own.
 */
export function withNames (functions: readonly GivenFunction[]): GivenFunction[] {
  const called = (given: GivenFunction) => given[kindsOf(given)[0] ?? 'tool'] ?? ''
  const unnamed = functions.filter(({ name }) => name === undefined).map(called)
  const names = modelNames([...new Set(unnamed)], new Set(functions.map(({ name }) => name)))
  return functions.map(given => ({ ...given, name: given.name ?? (names.get(called(given)) as string) }))
}

/** The name of the function by which a model hands the dialogue over to another agent. @param id the other agent's dotted id */
export function transferName (id: string): string {
  return modelNames([`transfer_to_${id}`]).get(`transfer_to_${id}`) as string
}
