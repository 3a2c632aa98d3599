import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { effectId, type Moment } from '../../session/engine.ts'
import {
  type ApplyEffect, type CheckEffect, type ChildEffect, type CommitEffect, type Effect, type ExecEffect, type ModelEffect, type Notice,
  type ReadEffect, type RememberEffect, type ShellEffect, type ToolEffect
} from '../../session/model.ts'
import { type Level, type Outcome, type Prefix, type Row, ROWS } from './messages.ts'
import { type AgentText } from '../texts/agent-texts.ts'
import { renderText } from './render-text.ts'

/** How long a skill waits for its model, in ms. */
export const MODEL_TIMEOUT = 30_000

/** What a user says is cut at this length, in code points: every later question to the model carries it again. */
export const MAX_MESSAGE = 4000

/** Replaces the words of users, models and tools in brief log lines. */
const LEFT_OUT = '…'

/** What an engine gathers while it takes one fact. */
export class Outbox {
  readonly effects: Effect[] = []
  readonly notices: Notice[] = []
  readonly #moment: Moment

  constructor (moment: Moment) {
    this.#moment = moment
  }

  /** The id of the session. */
  get session (): string {
    return this.#moment.session
  }

  /** The time of the fact, in milliseconds since 1970. */
  get at (): number {
    return this.#moment.at
  }

  /** The id that the next notice has among the events of all sessions. */
  get noticeId (): string {
    const { session, seq, notices } = this.#moment
    return `${session}:${seq}.${notices + this.notices.length}`
  }

  /** Adds the effect of a request to the model. Each method that adds an effect returns its id. */
  askModel (effect: Omit<ModelEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'llm' }))
  }

  callTool (effect: Omit<ToolEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'tool' }))
  }

  runCommand (effect: Omit<ExecEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'exec' }))
  }

  openShell (effect: Omit<ShellEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'shell' }))
  }

  runCheck (effect: Omit<CheckEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'check' }))
  }

  readFrom (effect: Omit<ReadEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'read' }))
  }

  change (effect: Omit<ApplyEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'apply' }))
  }

  commit (effect: Omit<CommitEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'commit' }))
  }

  remember (effect: Omit<RememberEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'remember' }))
  }

  startChild (effect: Omit<ChildEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'child' }))
  }

  /** Waits for the user. */
  wait (): string {
    return this.#add(id => ({ id, kind: 'wait' }))
  }

  /**
   * Shows the user and logs the texts that the table `ROWS` has for an outcome.
   * @param texts the texts for users, by the names that rows have for them
   * @param own a text that replaces that of the row, unless it is empty
   * @returns what was shown, if anything
   */
  say (outcome: Outcome, prefix: Prefix, texts: Readonly<Record<AgentText, string>>, values: JsonObject, own?: string): string | undefined {
    const row: Row = ROWS[outcome]
    const text = own !== undefined && own !== '' ? own : row.text === undefined ? undefined : texts[row.text]
    const shown = text === undefined || text === '' ? undefined : renderText(text, values)
    if (shown !== undefined) this.show(shown)
    // What a model or a tool has said is left out of the line that every operator reads.
    const brief = renderText(row.log, { ...values, reason: LEFT_OUT, ...(row.isModelsName === true ? { name: LEFT_OUT } : {}) })
    this.log(prefix, row.level, renderText(row.log, values), { brief, ...(Object.hasOwn(values, 'code') ? { code: values['code'] } : {}) })
    return shown
  }

  /** A line for the user. */
  show (text: string): void {
    this.notice('stdout', { text })
  }

  /**
   * A line for the log.
   * @param more with the line as it may be written where no text of a user, a model or a tool may be, `brief`, unless it is the
   *   same; and the code of what failed
   */
  log (prefix: Prefix, level: Level, text: string, { brief, ...more }: JsonObject = {}): void {
    this.notice('log', { prefix, level, text, ...(brief === undefined || brief === text ? {} : { brief }), ...more })
  }

  notice (type: Notice['type'], data: JsonObject): void {
    this.notices.push({ type, data })
  }

  #add (make: (id: string) => Effect): string {
    const id = effectId(this.#moment, this.effects.length)
    this.effects.push(make(id))
    return id
  }
}

/** The fields of an event about a command that has ended: the effect that ran it, and its duration. @param effect none where the service ran nothing */
export function ranAs (effect: string | undefined, result: Json): JsonObject {
  if (effect === undefined) return {}
  const duration = isJsonObject(result) ? result['durationMs'] : undefined
  return { effect, ...(typeof duration === 'number' ? { durationMs: duration } : {}) }
}
