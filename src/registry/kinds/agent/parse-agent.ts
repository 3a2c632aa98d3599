import { type Json, type JsonObject } from '../../../base/json.ts'
import { handlebarsLanguage } from '../../../template/handlebars/handlebars-language.ts'
import { type Diagnostic, RejectedEntry } from '../../diagnostic/diagnostic.ts'
import { asMistake } from '../../diagnostic/syntax-mistake.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { type AgentParameter, type AgentSetting, type AgentTool } from './agent-setting.ts'
import { toPath } from '../../../store/keys.ts'

export const AGENT_SCHEMA = entrySchema('agent')

/** What a user writes to leave a dialogue, to get help, and to clear the history. */
const COMMANDS = { exit: ['/exit', '/quit', '/q', 'exit', 'quit', 'q'], help: ['/help', 'help', '?'], clear: ['/clear'] }

/** Bounds of a dialogue that says nothing else: no honest one comes near them. */
const BUDGET = { steps: 500, tokens: 1_000_000, idleMinutes: 1440 }

/** Reads an agent. @throws RejectedEntry when it breaks `jsonschema/agent.json`, or a text of it is no template */
export function parseAgent (value: Json): AgentSetting {
  AGENT_SCHEMA.check(value)
  const { mode, model, help, system, classify, select, historyLimit, maxTurns, commands, budget, ask, messages, tools } = value as Partial<AgentSetting>
  const setting: AgentSetting = {
    mode: mode ?? 'steps',
    model: model ?? '',
    help: help ?? '',
    system: system ?? '',
    classify: classify ?? { prompt: '' },
    select: select ?? { prompt: '' },
    historyLimit: historyLimit ?? 10,
    maxTurns: maxTurns ?? 20,
    commands: { ...COMMANDS, ...commands },
    budget: { ...BUDGET, ...budget },
    ask: ask ?? [],
    messages: messages ?? {},
    tools: (tools ?? []).map(parseTool)
  }
  const mistakes = [...repeatedNames(setting), ...unknownNames(setting), ...brokenTexts(setting)]
  if (mistakes.length > 0) throw new RejectedEntry(mistakes)
  return setting
}

function parseTool (given: Partial<AgentTool> & Pick<AgentTool, 'tool'>): AgentTool {
  const { tool, name = tool.replace(/[^\w-]/g, '_').slice(0, 64), label = name, errorLabel = 'Tool error', failed = '', parameters = {}, show = [{ to: 'both', text: '{{json result}}' }] } = given
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

function repeatedNames ({ tools }: AgentSetting): Diagnostic[] {
  const names = tools.map(({ name }) => name)
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].map(name => error(`two tools are called "${name}"`))
}

function unknownNames ({ ask, tools }: AgentSetting): Diagnostic[] {
  return ask.filter(name => !tools.some(tool => tool.name === name)).map(name => error(`ask has "${name}", which is none of its tools`))
}

function brokenTexts ({ tools, messages }: AgentSetting): Diagnostic[] {
  const texts = [
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
