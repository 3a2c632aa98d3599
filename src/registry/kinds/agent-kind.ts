import type { JsonPath } from '../../base/json-places.ts'
import { contentHash, isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { toPath } from '../../store/store.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'
import { modelNames } from '../../tool/definition.ts'
import { parseParameters } from '../../tool/parameters.ts'
import { SchemaError } from '../../schema/compile.ts'
import { asMistake, type Diagnostic, reject, RejectedEntry } from '../diagnostic.ts'
import { entrySchema } from '../entries/entry-schemas.ts'
import { defineKind, type Definition, type ToolUse } from './entry-kind.ts'
import type { AgentChild, AgentClassify, AgentHistory, AgentParameter, AgentSetting, AgentTool, ChildParameter } from './agent-setting.ts'

/**
 * The defaults for a call of an agent, skill or plan whose author gives a budget with only one of the two numbers. The call reserves its budget from
 * the budget of the agent that makes the call.
 */
const CHILD_BUDGET = { steps: 50, tokens: 200_000 }

interface GivenFunction {
  readonly tool?: string
  readonly agent?: string
  readonly skill?: string
  readonly plan?: string
  readonly name?: string
  readonly description?: string
  readonly parameters?: Readonly<Record<string, Partial<AgentParameter> & { readonly required?: boolean }>>
  readonly input?: string
  readonly budget?: Partial<typeof CHILD_BUDGET>
  readonly workspace?: string
  readonly target?: string
}

/** `tool` has none: `parseTool` reads such functions. */
const FUNCTION_KINDS = { tool: undefined, agent: 'agents', skill: 'skills', plan: 'plans' } as const

type FunctionKind = keyof typeof FUNCTION_KINDS

function kindsOf (given: GivenFunction): FunctionKind[] {
  return (Object.keys(FUNCTION_KINDS) as FunctionKind[]).filter(kind => given[kind] !== undefined)
}

/** Fields that only some kinds of functions can have. */
const FIELDS: ReadonlyMap<string, readonly FunctionKind[]> = new Map<string, readonly FunctionKind[]>([
  ...['health', 'label', 'errorLabel', 'failed', 'arguments', 'show'].map((name): [string, readonly FunctionKind[]] => [name, ['tool']]),
  ['parameters', ['tool', 'agent', 'plan']],
  ['input', ['agent', 'skill', 'plan']],
  ['budget', ['agent', 'skill', 'plan']],
  ['workspace', ['plan']],
  ['target', ['skill']]
])

function mistakesOf (given: GivenFunction, index: number): string[] {
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

/** `undefined` for a function that calls a tool; `given` must be without mistakes. */
function parseChild (given: GivenFunction): AgentChild | undefined {
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
    description,
    parameters: kind === 'skills' ? {} : parametersOf(parameters),
    input: given.input ?? (kind === 'skills' ? '' : '{{task}}'),
    budget: budget === undefined ? undefined : { ...CHILD_BUDGET, ...budget },
    place
  }
}

function parametersOf (given: GivenFunction['parameters'] = { task: { description: 'What to do, or to find out, in full: nothing else is known there' } }): AgentChild['parameters'] {
  return Object.fromEntries(Object.entries(given).map(([name, { description, type = 'string', maxLength, required = true }]): [string, ChildParameter] => [
    name,
    { type, required, description, maxLength }
  ]))
}

/** That of what it calls, as models accept it; equal names are made different. */
function withNames (functions: readonly GivenFunction[]): GivenFunction[] {
  const called = (given: GivenFunction) => given[kindsOf(given)[0] ?? 'tool'] ?? ''
  const unnamed = functions.filter(({ name }) => name === undefined).map(called)
  const names = modelNames([...new Set(unnamed)], new Set(functions.map(({ name }) => name)))
  return functions.map(given => ({ ...given, name: given.name ?? (names.get(called(given)) as string) }))
}

export function transferName (id: string): string {
  return modelNames([`transfer_to_${id}`]).get(`transfer_to_${id}`) as string
}

const AGENT_SCHEMA = entrySchema('agent')

/** When the author sets none; no ordinary dialogue comes near it. */
const BUDGET = { steps: 500, tokens: 1_000_000, idleMinutes: 1440 }

/** Above `above` tokens of input, all but the last `keep` turns become a summary. */
const COMPACT = { above: 24_000, keep: 4 }

type GivenAgent = Partial<Omit<AgentSetting, 'classify' | 'history' | 'timeouts' | 'tools' | 'children'>> & {
  readonly tools?: ReadonlyArray<GivenFunction & Partial<Omit<AgentTool, 'parameters'>>>
  readonly classify?: Partial<AgentClassify> & Pick<AgentClassify, 'prompt'>
  readonly history?: Partial<Omit<AgentHistory, 'compact'>> & { readonly compact?: false | Partial<Exclude<AgentHistory['compact'], false>> }
  readonly timeouts?: Partial<AgentSetting['timeouts']>
}

/** @throws RejectedEntry when it breaks `jsonschema/agent.json`, or a text of it is no template */
export function parseAgent (value: Json): AgentSetting {
  AGENT_SCHEMA.check(value)
  const written = value as GivenAgent
  const misread = (written.tools ?? []).flatMap(mistakesOf)
  if (misread.length > 0) throw new RejectedEntry(misread.map(error))
  const given = { ...written, tools: withNames(written.tools ?? []) }
  const { mode, model, help, system, onError, repairs, history, timeouts, maxTurns, stream, commands, budget, ask, messages, tools } = given
  const setting: AgentSetting = {
    ...optionsOf(given),
    mode: mode ?? 'tools',
    model: model ?? '',
    help: help ?? '',
    system: system ?? '',
    onError: onError ?? 'listen',
    repairs: repairs ?? 1,
    history: { turns: 20, status: false, ...history, compact: history?.compact === false ? false : { ...COMPACT, ...history?.compact } },
    timeouts: { model: 120, tool: 60, health: 5, ...timeouts },
    maxTurns: maxTurns ?? 20,
    stream: stream ?? true,
    commands: commands ?? {},
    budget: { ...BUDGET, ...budget },
    ask: ask ?? [],
    messages: messages ?? {},
    tools: tools.flatMap(each => each.tool === undefined ? [] : [parseTool({ ...each, tool: each.tool } as GivenTool)])
  }
  const mistakes = [...repeatedNames(setting), ...beyondMode(setting), ...unknownNames(setting), ...brokenTexts(setting)]
  if (mistakes.length > 0) throw new RejectedEntry(mistakes)
  return setting
}

function optionsOf ({ language, classify, select, returns, tools = [], handoffs = [] }: GivenAgent): Partial<AgentSetting> {
  const children = tools.map(parseChild).filter(child => child !== undefined)
  return {
    ...(children.length === 0 ? {} : { children }),
    ...(handoffs.length === 0 ? {} : { handoffs: handoffs.map(toPath) }),
    ...(language === undefined ? {} : { language }),
    ...(classify === undefined ? {} : { classify: { answers: 'lenient', unclear: 'relevant', ...classify } }),
    ...(select === undefined ? {} : { select }),
    ...(returns === undefined ? {} : { returns: parseReturns(returns) })
  }
}

function parseReturns (returns: JsonObject): JsonObject {
  try {
    return parseParameters(returns).schema
  } catch (mistake) {
    if (!(mistake instanceof SchemaError)) throw mistake
    throw reject('RETURNS_INVALID', `returns: ${mistake.message}`)
  }
}

type GivenTool = Partial<AgentTool> & Pick<AgentTool, 'tool' | 'name'>

function parseTool (given: GivenTool): AgentTool {
  const { tool, name, label = name, errorLabel = 'Tool error', failed = '', parameters = {} } = given
  const { show = [{ to: 'both', text: '{{json result}}' }] } = given
  return {
    name,
    tool: toPath(tool),
    health: given.health === undefined ? undefined : toPath(given.health),
    description: given.description,
    label,
    errorLabel,
    failed,
    parameters: Object.fromEntries(Object.entries(parameters).map(([parameter, rules]: [
      string, Partial<AgentParameter>
    ]) => [parameter, { type: 'string', ...rules }])),
    arguments: (given.arguments ?? {}) as JsonObject,
    show
  }
}

function repeatedNames ({ tools, children = [], handoffs = [] }: AgentSetting): Diagnostic[] {
  const names = [...tools, ...children].map(({ name }) => name).concat(handoffs.map(transferName))
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].map(name => error(`two tools are called "${name}"`))
}

/** These need `mode: tools`. */
function beyondMode ({ mode, children = [], handoffs = [] }: AgentSetting): Diagnostic[] {
  if (mode === 'tools') return []
  return [
    ...children.map(({ name }) => error(`"${name}" needs mode: tools; mode: steps calls tools alone`)),
    ...handoffs.length === 0 ? [] : [error('"handoffs" needs mode: tools')]
  ]
}

function unknownNames ({ ask, tools, children = [] }: AgentSetting): Diagnostic[] {
  return ask.filter(name => ![...tools, ...children].some(tool => tool.name === name)).map(name => error(`ask has "${name}", which is none of its tools`))
}

function brokenTexts ({ tools, children = [], messages }: AgentSetting): Diagnostic[] {
  const texts = [
    ...children.map(({ name, input }) => [`tool ${name}: input`, input] as const),
    ...Object.entries(messages).map(([name, text]) => [`messages.${name}`, text] as const),
    ...tools.flatMap(({ name, show, parameters }) => [
      ...show.map(({ text }, index) => [`tool ${name}: show.${index}`, text] as const),
      ...Object.entries(parameters).flatMap(([parameter, { ready }]) => ready === undefined ? [] : [[`tool ${name}: ${parameter}.ready`, ready] as const])
    ])
  ]
  return texts.flatMap(([place, text]) => {
    try {
      handlebarsLanguage.compile({ text })
      return []
    } catch (mistake) {
      const { message, line, column } = asMistake(mistake)
      return [{ ...error(`${place}: ${message}`), line, column }]
    }
  })
}

function error (message: string): Diagnostic {
  return { severity: 'error', code: 'SCHEMA', message }
}

interface AgentDefinition extends Definition {
  readonly setting: AgentSetting
}

/** Stored under `shenma:agents:*`. */
export const agentKind = defineKind<AgentDefinition>({
  key: 'agents',
  name: 'agents',
  noun: 'agent',
  access: 'runs',
  define (id, value, origin) {
    const setting = parseAgent(value)
    const source = value as JsonObject
    return {
      id,
      origin,
      source,
      setting,
      diagnostics: uselessFields(source, setting),
      toolUses: [...setting.tools.flatMap(usesOf), ...definitionsIn(setting).filter(use => use.kind !== 'agents' || use.tool !== id)],
      hash: contentHash(source)
    }
  }
})

function definitionsIn ({ children = [], handoffs = [] }: AgentSetting): ToolUse[] {
  return [...children, ...handoffs.map(id => ({ kind: 'agents', id } as const))].map(({ kind, id }) => ({ kind, tool: id, parameters: [] }))
}

/** The tool, and the one (`health`) that is asked first whether the function can be called. */
function usesOf ({ tool, health, parameters, arguments: fixed }: AgentTool): ToolUse[] {
  return [{ tool, parameters: [...Object.keys(parameters), ...Object.keys(fixed)] }, ...health === undefined ? [] : [{ tool: health, parameters: [] }]]
}

const USELESS: Readonly<Record<AgentSetting['mode'], readonly JsonPath[]>> = {
  tools: [['classify'], ['select']],
  steps: [['system'], ['maxTurns'], ['stream'], ['returns'], ['history', 'compact']]
}

function uselessFields (source: JsonObject, { mode }: AgentSetting): Diagnostic[] {
  const beside = USELESS[mode].map(path => [path, `mode: ${mode}`] as const)
  const history: ReadonlyArray<readonly [JsonPath, string]> = has(source, ['history', 'messages']) ? [[['history', 'turns'], 'history.messages']] : []
  return [...beside, ...history].filter(([path]) => has(source, path)).map(([path, other]) => ({
    severity: 'warning', code: 'FIELD_UNUSED', message: `"${path.join('.')}" does nothing beside ${other}`, hint: 'leave one of them out', field: path
  }))
}

function has (source: JsonObject, [name = '', ...rest]: JsonPath): boolean {
  if (!Object.hasOwn(source, name)) return false
  const member = source[name] ?? null
  return rest.length === 0 || (isJsonObject(member) && has(member, rest))
}
