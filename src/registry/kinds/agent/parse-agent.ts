import { type Json, type JsonObject } from '../../../base/json.ts'
import { handlebarsLanguage } from '../../../template/handlebars/handlebars-language.ts'
import { parseParameters } from '../../../tool/schema/parameters.ts'
import { SchemaError } from '../../../tool/schema/schema.ts'
import { type Diagnostic, reject, RejectedEntry } from '../../diagnostic/diagnostic.ts'
import { asMistake } from '../../diagnostic/syntax-mistake.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { checkWithFields, lintFields } from '../../entries/misspelt-fields.ts'
import { isObject } from '../../../template/value.ts'
import { type AgentClassify, type AgentHistory, type AgentParameter, type AgentSetting, type AgentTool } from './agent-setting.ts'
import { toPath } from '../../../store/keys.ts'
import { type GivenFunction, mistakesOf, parseChild, transferName, withNames } from './parse-child.ts'

const AGENT_SCHEMA = entrySchema('agent')

/** The budget of a dialogue when the agent's author sets none. It is so high that no ordinary dialogue comes near it. */
const BUDGET = { steps: 500, tokens: 1_000_000, idleMinutes: 1440 }

/** The defaults for summing up a dialogue: above `above` tokens of input, all but the last `keep` turns become a summary. */
const COMPACT = { above: 24_000, keep: 4 }

/** An agent as its author writes it. The author can leave out most members, also inside nested objects, because `parseAgent` knows the defaults. */
type GivenAgent = Partial<Omit<AgentSetting, 'classify' | 'history' | 'timeouts' | 'tools' | 'children'>> & {
  readonly tools?: ReadonlyArray<GivenFunction & Partial<Omit<AgentTool, 'parameters'>>>
  readonly classify?: Partial<AgentClassify> & Pick<AgentClassify, 'prompt'>
  readonly history?: Partial<Omit<AgentHistory, 'compact'>> & { readonly compact?: false | Partial<Exclude<AgentHistory['compact'], false>> }
  readonly timeouts?: Partial<AgentSetting['timeouts']>
}

/** Reads an agent and fills in its defaults. @throws RejectedEntry when it breaks `jsonschema/agent.json`, or a text of it is no template */
export function parseAgent (value: Json): AgentSetting {
  checkWithFields(() => { AGENT_SCHEMA.check(value) }, () => isObject(value) ? lintFields(value as JsonObject, AGENT_SCHEMA.fields) : [])
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

/** The fields of an agent that have no default. A field that the author has not given is left out. */
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
    ...(given.health === undefined ? {} : { health: toPath(given.health) }),
    ...(given.description === undefined ? {} : { description: given.description }),
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

/** The errors of an agent with `mode: steps` that calls agents, skills or plans, or hands the dialogue over to other agents: that needs `mode: tools`. */
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
