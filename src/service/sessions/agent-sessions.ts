import { definitionsTooMany } from '../../base/errors.ts'
import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import type { Config } from '../../config/config.ts'
import { AGENT, LOOP } from '../../engine/dialogue-state.ts'
import type {
  DialogueSetting, OfferedChild, OfferedFunction, OfferedTool, OfferedTransfer, ResolvedDefinition, ResolvedDefinitions
} from '../../engine/dialogue.ts'
import type { Generation } from '../../registry/generation.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { agentKind, transferName } from '../../registry/kinds/agent-kind.ts'
import type { AgentChild, AgentSetting, AgentTool, ChildParameter } from '../../registry/kinds/agent-setting.ts'
import { planKind, type PlanProfile, profileFrom } from '../../registry/kinds/plan-kind.ts'
import { skillKind } from '../../registry/kinds/skill-kind.ts'
import { startWith } from '../../session/engine.ts'
import type { Start } from '../../session/model.ts'
import { findDefinition } from '../find-entries.ts'
import type { SessionKind } from './session-kind.ts'

/** A request to start a dialogue with an agent. */
export interface AgentRequest {
  /** The id of the agent, with `.` or `:` between its parts. */
  readonly id: string
  /** The input that the dialogue starts with. @default an empty object */
  readonly input?: JsonObject
}

const MINUTE = 60_000

/** Makes the kind of sessions that are dialogues with agents. @param config has the language of agents that set none */
export function agentSessions ({ DEFAULT_LANGUAGE }: Pick<Config, 'DEFAULT_LANGUAGE'>): SessionKind<AgentRequest> {
  return {
    name: 'agents',
    engines: [AGENT, LOOP],
    start ({ id: wanted, input = {} }, { generation }) {
      const { id, setting, hash } = findDefinition(generation, agentKind, wanted)
      const agent = { language: DEFAULT_LANGUAGE, ...setting }
      return startDialogue({ id, revision: hash, agent }, reachOf(generation, setting, { DEFAULT_LANGUAGE }), input)
    }
  }
}

/** Makes the recorded start of a dialogue: all settings of the agent and of the definitions that it can reach. */
export function startDialogue (
  { id, revision, agent }: { readonly id: string, readonly revision: string, readonly agent: DialogueSetting },
  { tools, definitions, ask }: Reach,
  input: JsonObject
): Omit<Start, 'owner'> {
  const { mode, budget: { steps, tokens, idleMinutes } } = agent
  return {
    ...(mode === 'tools' ? startWith(LOOP, { agent, tools, ...(definitions === undefined ? {} : { definitions }) }) : startWith(AGENT, { agent, tools: [] })),
    definition: `agents/${id}`,
    revision,
    input,
    budget: { steps, tokens, idle: idleMinutes * MINUTE },
    ask
  }
}

/** The most definitions (agents, skills, plan profiles) that one session can reach, and the most bytes that they take together in the session's log. */
const [MOST, MOST_BYTES] = [16, 512 * 1024]

/** The most definitions that are counted: the error for too many reachable definitions names no larger number. */
const COUNTED = 1000

/** The functions that an agent offers its model, and all definitions (agents, skills, plan profiles) that it can start or hand over to. */
interface Reach {
  readonly tools: readonly OfferedFunction[]
  /** The definitions that the agent can start or hand over to, directly or through others; left out when there are none. */
  readonly definitions?: ResolvedDefinitions
  /** The ids of tools, and the names of definitions such as `agents/helper`, of which each call needs a person's approval. */
  readonly ask: readonly string[]
}

/**
 * Finds all definitions that an agent can call or hand over to, directly or through others, as they are now. The model is not offered a
 * definition that the caller may not see, nor a tool that cannot be called.
 * @param generation the snapshot of entries, without what is hidden from the caller
 * @throws DEFINITIONS_TOO_MANY
 */
function reachOf (generation: Generation, agent: AgentSetting, { DEFAULT_LANGUAGE: language }: Pick<Config, 'DEFAULT_LANGUAGE'>): Reach {
  const found = new Map<string, Found>()
  const waiting = [agent]
  for (let next = waiting.shift(); next !== undefined && found.size < COUNTED; next = waiting.shift()) {
    for (const key of namedBy(next)) {
      if (found.has(key)) continue
      const definition = find(generation, key)
      if (definition === undefined) continue
      found.set(key, definition)
      if (definition.kind === 'agents') waiting.push(definition.agent)
    }
  }
  const offer = (setting: AgentSetting): readonly OfferedFunction[] => [
    ...declareTools(generation, setting.tools),
    ...(setting.children ?? []).flatMap(child => offeredChild(child, found.get(`${child.kind}/${child.id}`)) ?? []),
    ...(setting.handoffs ?? []).flatMap(id => offeredTransfer(id, found.get(`agents/${id}`)) ?? [])
  ]
  const definitions = Object.fromEntries([...found].map(([key, { about: _about, ...each }]): [string, ResolvedDefinition] => [
    key,
    each.kind === 'agents' ? { ...each, agent: { language, ...each.agent }, tools: each.agent.mode === 'tools' ? offer(each.agent) : [] } : each
  ]))
  const bytes = found.size === 0 ? 0 : Buffer.byteLength(JSON.stringify(definitions))
  if (found.size > MOST || bytes > MOST_BYTES) throw definitionsTooMany(found.size, bytes, MOST, MOST_BYTES)
  return { tools: offer(agent), ...(found.size === 0 ? {} : { definitions }), ask: askOf(agent, definitions) }
}

/**
 * Of the definitions that are recorded in a session, gives those that the definition `key` can start or hand over to, directly or through others.
 * `key` itself is in the result only if a cycle leads back to it.
 * @param key the name of the definition from which the search begins, as `agents/helper`
 */
export function withinReach (definitions: ResolvedDefinitions, key: string): ResolvedDefinitions {
  const reached = new Set<string>()
  const waiting = [key]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const definition = Object.hasOwn(definitions, next) ? definitions[next] : undefined
    if (definition?.kind !== 'agents') continue
    for (const named of namedBy(definition.agent)) {
      if (reached.has(named) || !Object.hasOwn(definitions, named)) continue
      reached.add(named)
      waiting.push(named)
    }
  }
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => reached.has(name)))
}

/** The tools and definitions of which each call needs a person's approval in a dialogue, also after a handoff to another agent. */
export function askOf (agent: AgentSetting, definitions: ResolvedDefinitions): readonly string[] {
  const asked = new Set<string>()
  const seen = new Set<string>()
  const waiting = [agent]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { ask, tools, children = [], handoffs = [] } = next
    // An agent's `ask` names functions as the model calls them. The session's effects (its actions) have the ids of tools and definitions.
    for (const { name, tool } of tools) if (ask.includes(name)) asked.add(tool)
    for (const { name, kind, id } of children) if (ask.includes(name)) asked.add(`${kind}/${id}`)
    for (const id of handoffs) {
      const key = `agents/${id}`
      const other = Object.hasOwn(definitions, key) ? definitions[key] : undefined
      if (other?.kind !== 'agents' || seen.has(key)) continue
      seen.add(key)
      waiting.push(other.agent)
    }
  }
  return [...asked]
}

type Found = (
  | { readonly kind: 'agents', readonly agent: AgentSetting }
  | Omit<Extract<ResolvedDefinition, { kind: 'skills' }>, 'id' | 'revision'>
  | Omit<Extract<ResolvedDefinition, { kind: 'plans' }>, 'id' | 'revision'>
) & { readonly id: string, readonly revision: string, /** What the model is told of it, where a function says nothing itself. */ readonly about: string }

function namedBy ({ children = [], handoffs = [] }: AgentSetting): string[] {
  return [...children.map(({ kind, id }) => `${kind}/${id}`), ...handoffs.map(id => `agents/${id}`)]
}

/** Finds a registered definition by its name. @param key the name, as `agents/helper` */
function find (generation: Generation, key: string): Found | undefined {
  const [kind, id = ''] = key.split('/')
  if (kind === 'agents') {
    const agent = definitionsOf(generation, agentKind).get(id)
    return agent && { kind, id, revision: agent.hash, agent: agent.setting, about: textIn(agent.source) }
  }
  if (kind === 'skills') {
    const skill = definitionsOf(generation, skillKind).get(id)
    if (skill === undefined) return undefined
    const { name, description, body, isTemplate, options, hash } = skill
    return { kind, id, revision: hash, skill: { id, name, description, body, isTemplate, options, hash }, about: description }
  }
  const plan = seekProfile(generation, id)
  return plan && { kind: 'plans', ...plan, about: plan.profile.description }
}

function textIn ({ description }: JsonObject): string {
  return typeof description === 'string' ? description : ''
}

function offeredChild ({ name, description, parameters: own, input, budget, place, ...child }: AgentChild, found: Found | undefined): OfferedChild | undefined {
  if (found === undefined) return undefined
  const parameters = found.kind === 'skills' ? parametersOfSkill(found.skill.options.params) : own
  return {
    name,
    declaration: declared(name, description ?? found.about, parameters),
    child: {
      definition: `${child.kind}/${child.id}`,
      parameters,
      input,
      ...(budget === undefined ? {} : { budget }),
      ...(place === undefined ? {} : { place })
    }
  }
}

function parametersOfSkill (params: Extract<Found, { kind: 'skills' }>['skill']['options']['params']): Readonly<Record<string, ChildParameter>> {
  return Object.fromEntries(params.map(({ name, description, required }) => [name, { type: 'string', description, required }]))
}

/**
 * Makes the function by which a model hands the dialogue over to another agent; `undefined` for an agent that is not in the mode `tools`,
 * since another engine runs it.
 */
function offeredTransfer (id: string, found: Found | undefined): OfferedTransfer | undefined {
  if (found?.kind !== 'agents' || found.agent.mode !== 'tools') return undefined
  const name = transferName(id)
  const handsOver = `Hands the dialogue over to ${id}, who answers from then on`
  const about = found.about === '' ? `${handsOver}.` : `${handsOver}: ${found.about}`
  return { name, declaration: declared(name, about, {}), transfer: `agents/${id}` }
}

function declared (name: string, description: string, parameters: Readonly<Record<string, ChildParameter>>): JsonObject {
  const properties = Object.fromEntries(Object.entries(parameters).map(([parameter, { type, description: about, maxLength }]) => [
    parameter,
    { type, ...(about === undefined || about === '' ? {} : { description: about }), ...(maxLength === undefined ? {} : { maxLength }) }
  ])) as JsonObject
  const required = Object.entries(parameters).filter(([, each]) => each.required).map(([parameter]) => parameter)
  const schema = { type: 'object', properties, required, additionalProperties: false }
  return { type: 'function', function: { name, ...(description === '' ? {} : { description }), parameters: schema } }
}

/** Declares the tools of an agent to its model as functions. Tools that cannot be called now are left out. */
function declareTools ({ tools: registered }: Generation, tools: readonly AgentTool[]): OfferedTool[] {
  return tools.flatMap(({ name, tool, description }) => {
    const definition = registered.get(tool)?.callable?.definition
    if (definition === undefined) return []
    const about = description ?? definition.description
    const parameters = (definition.parameters?.schema ?? { type: 'object' }) as Json
    return [{ name, tool, declaration: { type: 'function', function: { name, ...(about === undefined ? {} : { description: about }), parameters } } }]
  })
}

/** The id of the built-in plan profile, which is used if no other is registered under it. */
const DEFAULT_PROFILE = 'default'

/** A plan profile (how plans are made and checked), with the id and the revision that a session records. */
export interface FoundProfile {
  readonly id: string
  readonly profile: PlanProfile
  readonly revision: string
}

/** Finds a plan profile, registered or built in; `undefined` when there is none. @param id the dotted id */
export function seekProfile (generation: Generation, id: string): FoundProfile | undefined {
  const registered = definitionsOf(generation, planKind).get(id)
  if (registered !== undefined) return { id, profile: registered.profile, revision: registered.hash }
  return id === DEFAULT_PROFILE ? { id, profile: profileFrom({}), revision: contentHash({}) } : undefined
}
