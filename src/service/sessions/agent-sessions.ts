import { definitionsTooMany } from '../../base/errors.ts'
import { contentHash, type Json, type JsonObject, ownField, textIn } from '../../base/json.ts'
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
import { findDefinition } from '../choose-prompt.ts'
import type { SessionKind } from './session-kind.ts'

export interface AgentRequest {
  readonly id: string
  /** @default an empty object */
  readonly input?: JsonObject
}

const MINUTE = 60_000

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

export function startDialogue (
  { id, revision, agent }: { readonly id: string, readonly revision: string, readonly agent: DialogueSetting },
  { tools, definitions, ask }: Reach,
  input: JsonObject
): Omit<Start, 'owner'> {
  const { mode, budget: { steps, tokens, idleMinutes } } = agent
  return {
    ...(mode === 'tools' ? startWith(LOOP, { agent, tools, definitions }) : startWith(AGENT, { agent, tools: [] })),
    definition: `agents/${id}`,
    revision,
    input,
    budget: { steps, tokens, idle: idleMinutes * MINUTE },
    ask
  }
}

/** In one session, and their bytes together in its log. */
const [MOST, MOST_BYTES] = [16, 512 * 1024]

const COUNTED = 1000

interface Reach {
  readonly tools: readonly OfferedFunction[]
  readonly definitions?: ResolvedDefinitions
  /** Ids of tools, and names such as `agents/helper`, whose calls each need a person's approval. */
  readonly ask: readonly string[]
}

/** Nothing that the caller may not see, nor an unusable tool, is offered; also follows other definitions. @throws DEFINITIONS_TOO_MANY */
function reachOf (generation: Generation, agent: AgentSetting, { DEFAULT_LANGUAGE: language }: Pick<Config, 'DEFAULT_LANGUAGE'>): Reach {
  const found = new Map<string, ChildDefinition>()
  reached(namedBy(agent), key => {
    const definition = found.size < COUNTED ? find(generation, key) : undefined
    if (definition === undefined) return undefined
    found.set(key, definition)
    return definition.kind === 'agents' ? namedBy(definition.agent) : []
  })
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
  return { tools: offer(agent), definitions: found.size === 0 ? undefined : definitions, ask: askOf(agent, definitions) }
}

/** `key`, as `agents/helper`, is in the result only if a cycle leads back to it. */
export function withinReach (definitions: ResolvedDefinitions, key: string): ResolvedDefinitions {
  const next = (name: string): readonly string[] | undefined => {
    const definition = ownField(definitions, name)
    return definition?.kind === 'agents' ? namedBy(definition.agent) : definition && []
  }
  const keys = reached(next(key) ?? [], next)
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => keys.has(name)))
}

export function askOf (agent: AgentSetting, definitions: ResolvedDefinitions): readonly string[] {
  const asked = new Set<string>()
  const handoffsOf = ({ ask, tools, children = [], handoffs = [] }: AgentSetting): readonly string[] => {
    // `ask` names functions as the model calls them, but effects have the ids of tools and definitions.
    for (const { name, tool } of tools) if (ask.includes(name)) asked.add(tool)
    for (const { name, kind, id } of children) if (ask.includes(name)) asked.add(`${kind}/${id}`)
    return handoffs.map(id => `agents/${id}`)
  }
  reached(handoffsOf(agent), key => {
    const other = ownField(definitions, key)
    return other?.kind === 'agents' ? handoffsOf(other.agent) : undefined
  })
  return [...asked]
}

/** Breadth first; `next` gives `undefined` for what is not there. */
function reached (first: readonly string[], next: (key: string) => readonly string[] | undefined): ReadonlySet<string> {
  const keys = new Set<string>()
  const waiting = [...first]
  for (const key of waiting) {
    const more = keys.has(key) ? undefined : next(key)
    if (more === undefined) continue
    keys.add(key)
    waiting.push(...more)
  }
  return keys
}

type ChildDefinition = (
  | { readonly kind: 'agents', readonly agent: AgentSetting }
  | Omit<Extract<ResolvedDefinition, { kind: 'skills' }>, 'id' | 'revision'>
  | Omit<Extract<ResolvedDefinition, { kind: 'plans' }>, 'id' | 'revision'>
) & { readonly id: string, readonly revision: string, /** What the model is told of it, where a function says nothing itself. */ readonly about: string }

function namedBy ({ children = [], handoffs = [] }: AgentSetting): string[] {
  return [...children.map(({ kind, id }) => `${kind}/${id}`), ...handoffs.map(id => `agents/${id}`)]
}

function find (generation: Generation, key: string): ChildDefinition | undefined {
  const [kind, id = ''] = key.split('/')
  if (kind === 'agents') {
    const agent = definitionsOf(generation, agentKind).get(id)
    return agent && { kind, id, revision: agent.hash, agent: agent.setting, about: textIn(agent.source, 'description') }
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

function offeredChild (
  { name, description, parameters: own, input, budget, place, ...child }: AgentChild, found: ChildDefinition | undefined
): OfferedChild | undefined {
  if (found === undefined) return undefined
  const parameters = found.kind === 'skills' ? parametersOfSkill(found.skill.options.params) : own
  return {
    name,
    declaration: declared(name, description ?? found.about, parameters),
    child: {
      definition: `${child.kind}/${child.id}`,
      parameters,
      input,
      budget,
      place
    }
  }
}

function parametersOfSkill (params: Extract<ChildDefinition, { kind: 'skills' }>['skill']['options']['params']): Readonly<Record<string, ChildParameter>> {
  return Object.fromEntries(params.map(({ name, description, required }) => [name, { type: 'string', description, required }]))
}

function offeredTransfer (id: string, found: ChildDefinition | undefined): OfferedTransfer | undefined {
  if (found?.kind !== 'agents' || found.agent.mode !== 'tools') return undefined
  const name = transferName(id)
  const handsOver = `Hands the dialogue over to ${id}, who answers from then on`
  const about = found.about === '' ? `${handsOver}.` : `${handsOver}: ${found.about}`
  return { name, declaration: declared(name, about, {}), transfer: `agents/${id}` }
}

function declared (name: string, description: string, parameters: Readonly<Record<string, ChildParameter>>): JsonObject {
  const properties = Object.fromEntries(Object.entries(parameters).map(([parameter, { type, description: about, maxLength }]) => [
    parameter,
    { type, description: about === undefined || about === '' ? undefined : about, maxLength }
  ])) as JsonObject
  const required = Object.entries(parameters).filter(([, each]) => each.required).map(([parameter]) => parameter)
  const schema = { type: 'object', properties, required, additionalProperties: false }
  return { type: 'function', function: { name, ...(description === '' ? {} : { description }), parameters: schema } }
}

/** Tools that cannot be called now are left out. */
function declareTools ({ tools: registered }: Generation, tools: readonly AgentTool[]): OfferedTool[] {
  return tools.flatMap(({ name, tool, description }) => {
    const definition = registered.get(tool)?.callable?.definition
    if (definition === undefined) return []
    const about = description ?? definition.description
    const parameters = (definition.parameters?.schema ?? { type: 'object' }) as Json
    return [{ name, tool, declaration: { type: 'function', function: { name, description: about, parameters } } }]
  })
}

const DEFAULT_PROFILE = 'default'

export function seekProfile (
  generation: Generation, id: string
): { readonly id: string, readonly profile: PlanProfile, readonly revision: string } | undefined {
  const registered = definitionsOf(generation, planKind).get(id)
  if (registered !== undefined) return { id, profile: registered.profile, revision: registered.hash }
  return id === DEFAULT_PROFILE ? { id, profile: profileFrom({}), revision: contentHash({}) } : undefined
}
