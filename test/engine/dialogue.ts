import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type Json, type JsonObject } from '../../src/base/json.ts'
import { type AgentSetting } from '../../src/registry/kinds/agent-setting.ts'
import { parseAgent } from '../../src/registry/kinds/agent-kind.ts'
import { advance, begin, foldLogEntry } from '../../src/session/advance-session.ts'
import { type EngineStart } from '../../src/session/engine.ts'
import { gate } from '../../src/session/gate.ts'
import { type Effect, type Fact, type Start, type LogEntry } from '../../src/session/model.ts'
import { type Session } from '../../src/session/session.ts'

/** An agent of examples/agents. */
export function exampleAgent (id: string): AgentSetting {
  return parseAgent(parse(readFileSync(`examples/agents/${id}.yaml`, 'utf8')) as Json)
}

/** An answer of a model with a message. */
export function answerWith (message: JsonObject): Json {
  return { choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }] }
}

/** A call of a function as a model's message has it. */
export function callOf (name: string, text: string, id = 'call_1'): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } }
}

/** A dialogue that is driven by facts, without a runner. */
export class Dialogue {
  readonly log: LogEntry[] = []
  readonly #engine: EngineStart
  #session: Session
  #inputs = 0

  constructor (engine: EngineStart, setting: AgentSetting, tools: Json = [], budget: Start['budget'] = { steps: 500, tokens: 1_000_000, idle: 60_000 }, ask: readonly string[] = [], more: Partial<Start> = {}) {
    this.#engine = engine
    const start: Start = { engine: engine().name, definition: 'agents/test', revision: '1', setting: { agent: { language: 'en', ...setting } as unknown as JsonObject, tools }, input: {}, owner: '', budget, ask, ...more }
    const { session, transition } = begin('s1', start, engine, gate, this.#stamp(1))
    this.#session = session
    this.log.push(transition)
  }

  get session (): Session {
    return this.#session
  }

  /** What the engine keeps. */
  state<S> (): S {
    return this.#session.engine.state as S
  }

  take (fact: Fact): void {
    const { session, transition } = advance(this.#session, fact, gate, this.#stamp(this.#session.seq + 1))
    this.#session = session
    this.log.push(transition)
  }

  say (text: string): void {
    this.take({ kind: 'input', id: `i${++this.#inputs}`, by: '', text })
  }

  /** Ends the effect that has begun; the one at an index when there are several. */
  end (result: Json, index = 0): void {
    this.take({ kind: 'result', effect: this.#begun(index), result })
  }

  fail (message: string, code = 'UNREACHABLE', index = 0): void {
    this.take({ kind: 'failure', effect: this.#begun(index), code, message })
  }

  /** What has begun or is held, and has not ended, in order. */
  get open (): Effect[] {
    return [...this.#session.open.values()].map(({ effect }) => effect)
  }

  effect (index = 0): Effect {
    const effect = this.open[index]
    if (effect === undefined) throw new Error(`the dialogue has no open effect ${index}`)
    return effect
  }

  /** What the last transitions told the reader, and what the log says, as `[prefix] text (level)`. */
  told (from = -1): { stdout: string[], log: string[] } {
    const notices = this.log.slice(from).flatMap(each => each.notices)
    return {
      stdout: notices.flatMap(({ type, data }) => type === 'stdout' ? [data['text'] as string] : []),
      log: notices.flatMap(({ type, data }) => type === 'log' ? [`[${data['prefix'] as string}] ${data['text'] as string} (${data['level'] as string})`] : [])
    }
  }

  /** The session as another replica reads it out of the log. */
  fold (): Session {
    const engines = new Map([[this.#engine().name, this.#engine]])
    const folded = this.log.reduce<Session | undefined>((session, transition) => foldLogEntry('s1', session, transition, engines), undefined)
    if (folded === undefined) throw new Error('the log is empty')
    return folded
  }

  /** Nothing that is held has an end. */
  #begun (index: number): string {
    const { id } = this.effect(index)
    if (this.#session.open.get(id)?.phase !== 'begun') throw new Error(`effect ${id} has not begun`)
    return id
  }

  #stamp (seq: number) {
    return { at: seq * 1000, token: `t${seq}`, by: 'replica' }
  }
}
