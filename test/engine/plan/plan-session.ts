import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { planEngine } from '../../../src/engine/plan/plan-engine.ts'
import { PLAN, type PlanState } from '../../../src/engine/plan/plan-state.ts'
import { DEFAULT_LIMITS, type PlanSetting } from '../../../src/engine/plan/plan-setting.ts'
import { DEFAULT_WHITELIST } from '../../../src/files/path-rules.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { type EngineView, resultOf, startOf } from '../../../src/session/engine.ts'
import { type ApplyEffect, type CheckEffect, type Effect, type ModelEffect, type ReadEffect } from '../../../src/session/model.ts'
import { openIn } from '../../../src/session/session.ts'
import { approved } from '../../session/approve.ts'
import { answerWith, Dialogue } from '../dialogue.ts'

export const SETTING: PlanSetting = {
  traceId: 'trace-1',
  workspace: 'shop',
  prompt: '',
  checks: [],
  model: '',
  temperature: 0,
  maxTokens: 16_384,
  timeout: 90_000,
  isStrict: false,
  schema: { type: 'object' },
  schemaVersion: 1,
  schemaHash: 'abc',
  eol: 'keep',
  language: 'ru',
  confirm: 'deletions',
  repair: { rounds: 0, confirm: false, then: 'rollback' },
  commit: 'never',
  remembers: false,
  limits: DEFAULT_LIMITS,
  whitelist: DEFAULT_WHITELIST
}

/** A path of a change as a scripted preview shows it. */
export function shownStep (kind: string, path: string) {
  return { kind, path, before: kind.startsWith('CREATE') ? null : `sha-${path}`, after: kind.startsWith('DELETE') ? null : `new-${path}` }
}

/** Files of the workspace that scripted reads show. */
export type Files = Readonly<Record<string, string>>

/** A plan whose effects a test ends one by one. */
export class PlanSession {
  readonly dialogue: Dialogue
  readonly #files: Files
  readonly #memory: JsonObject

  constructor (goal: string, { setting = {}, input = {}, files = {}, memory = {} }: { setting?: Partial<PlanSetting>, input?: JsonObject, files?: Files, memory?: JsonObject } = {}) {
    this.#files = files
    this.#memory = memory
    const own = { ...SETTING, ...setting } as unknown as JsonObject
    this.dialogue = new Dialogue(startOf(planEngine), parseAgent({ mode: 'tools', tools: [] }), [], undefined, [], { definition: 'plans/default', setting: own, input: { goal, ...input } })
  }

  get state (): PlanState {
    return this.dialogue.state<PlanState>()
  }

  get view (): EngineView {
    return this.dialogue.session.engine.view
  }

  get result (): JsonObject {
    return { ...resultOf(this.dialogue.session, PLAN) } as unknown as JsonObject
  }

  get word (): string {
    return this.view.stateName
  }

  /** The effect that is open, of a kind. */
  open (kind: 'read'): ReadEffect
  open (kind: 'llm'): ModelEffect
  open (kind: 'apply'): ApplyEffect
  open (kind: 'check'): CheckEffect
  open (kind: Effect['kind']): Effect
  open (kind: Effect['kind']): Effect {
    const effect = this.dialogue.effect()
    if (effect.kind !== kind) throw new Error(`${effect.kind} is open, not ${kind}`)
    return effect
  }

  /** Ends a read with what the files have. */
  read (): this {
    this.dialogue.end({ blocks: this.open('read').requests.map(request => this.#blockOf(request)) })
    return this
  }

  /** The model answers; what it has to read is read before. */
  answer (content: Json): this {
    while (this.dialogue.effect().kind === 'read') this.read()
    this.open('llm')
    this.dialogue.end(answerWith({ content: typeof content === 'string' ? content : JSON.stringify(content) }))
    return this
  }

  /** Ends the preview and the change, which is allowed. */
  apply (applied: Json = undefined as unknown as Json): this {
    if (this.dialogue.effect().kind === 'read') this.read()
    const { id } = this.open('apply')
    if (openIn(this.dialogue.session, 'held').length > 0) this.dialogue.take(approved(this.dialogue.session, id))
    this.dialogue.end(applied === undefined ? {} : { applied })
    return this
  }

  say (text: string): this {
    this.dialogue.say(text)
    return this
  }

  act (name: string, data: JsonObject = {}): this {
    this.dialogue.take({ kind: 'input', id: `a${this.dialogue.log.length}`, by: 'me', text: '', action: { name, data } })
    return this
  }

  /** What the last transitions told. */
  notices (type: string, from = 0): JsonObject[] {
    return this.dialogue.log.slice(from).flatMap(({ notices }) => notices).filter(notice => notice.type === type).map(({ data }) => data)
  }

  /** Words of the log, in order. */
  events (): Json[] {
    return this.notices('log').flatMap(({ event }) => event ?? [])
  }

  #blockOf (request: JsonObject): Json {
    const missing = { type: 'missing', request, reason: 'PATH_NOT_FOUND' }
    switch (request['type']) {
      case 'memory': return { type: 'memory', user: {}, project: {}, ...this.#memory }
      case 'preview': {
        const { do: wish, redo } = request['change'] as Readonly<Record<string, JsonObject | undefined>>
        const paths = redo?.['paths'] as readonly string[] | undefined
        const touched = (wish?.['actions'] as JsonObject[] | undefined) ?? this.state.undone.filter(({ path }) => paths?.includes(path) !== false)
        const shown = touched.map(each => shownStep(String(each['kind']), String(each['path'])))
        return { type: 'preview', files: shown.map(each => ({ ...each, bytes: 1, diff: `--- ${each.path}` })), more: 0, shown, conflicts: [] }
      }
      case 'env': return { type: 'env', text: 'node 20' }
      case 'search': return { type: 'search', query: request['query'] as string, hits: [{ path: 'a.ts', line: 3, text: 'hit' }], truncated: false }
      case 'logs': return { type: 'logs', source: request['source'] as string, text: 'line' }
      default: {
        const path = request['path'] as string
        const text = Object.hasOwn(this.#files, path) ? this.#files[path] : undefined
        if (text === undefined) return missing
        const startLine = (request['start_line'] as number | undefined) ?? 1
        const endLine = startLine + text.replace(/\n$/, '').split('\n').length - 1
        return { type: 'file', path, startLine, endLine, totalLines: endLine, text: text.replace(/\n$/, ''), sha256: `sha-${path}` }
      }
    }
  }
}
