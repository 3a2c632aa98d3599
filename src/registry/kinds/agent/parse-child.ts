import { toPath } from '../../../store/keys.ts'
import { type AgentChild, type AgentParameter, type ChildParameter } from './agent-setting.ts'

/** The budget that a call of a child reserves from its parent's budget, for the members that the child's own budget leaves out. */
const BUDGET = { steps: 50, tokens: 200_000 }

/** A function of an agent as its author may write it: exactly one of the first four fields is present. */
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

/** The kinds of a function's target, by the field that names the target; a tool has no kind of definitions. */
export const FUNCTION_KINDS = { tool: undefined, agent: 'agents', skill: 'skills', plan: 'plans' } as const

type FunctionKind = keyof typeof FUNCTION_KINDS

/** The target fields that a function has: exactly one in a correct function. */
export function kindsOf (given: GivenFunction): FunctionKind[] {
  return (Object.keys(FUNCTION_KINDS) as FunctionKind[]).filter(kind => given[kind] !== undefined)
}

/** Fields that only some functions may have, each with the kinds of functions that may have it. */
const FIELDS: ReadonlyMap<string, readonly FunctionKind[]> = new Map<string, readonly FunctionKind[]>([
  ...['health', 'label', 'errorLabel', 'failed', 'arguments', 'show'].map((name): [string, readonly FunctionKind[]] => [name, ['tool']]),
  ['parameters', ['tool', 'agent', 'plan']],
  ['input', ['agent', 'skill', 'plan']],
  ['budget', ['agent', 'skill', 'plan']],
  ['workspace', ['plan']],
  ['target', ['skill']]
])

/** What is wrong with how a function is written, in words. @param index of the function, from 0 */
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

/** Reads a function that is an agent, a skill or a plan; `undefined` for a tool. @param given one without mistakes */
export function parseChild (given: GivenFunction): AgentChild | undefined {
  const [field = 'tool'] = kindsOf(given)
  const kind = FUNCTION_KINDS[field]
  const id = given[field]
  if (kind === undefined || id === undefined) return undefined
  const { name = functionName(id), description, parameters, budget, workspace, target } = given
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

/** The name of the function that calls a definition, made from the definition's id. */
export function functionName (id: string): string {
  return id.replace(/[^\w-]/g, '_').slice(0, 64)
}

/** The function by which a dialogue is handed over to an agent. @param id dotted */
export function transferName (id: string): string {
  return `transfer_to_${functionName(id)}`.slice(0, 64)
}
