import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { effectId, type Moment } from '../../session/engine.ts'
import {
  type ApplyEffect, type CheckEffect, type ChildEffect, type CommitEffect, type Effect, type ExecEffect, type ModelEffect, type Notice,
  type ReadEffect, type RememberEffect, type ShellEffect, type ToolEffect
} from '../../session/model.ts'
import { type Level, type Outcome, type Prefix, type Row, ROWS } from './messages.ts'
import { type AgentText } from '../texts/agent-texts.ts'
import { renderText } from './render-text.ts'

/** The time limit of a skill's request to its model, in ms. */
export const MODEL_TIMEOUT = 30_000

/** The largest length of what a model or a tool has said, where requests to the model repeat it, in code points; a longer text is cut. */
export const MAX_MESSAGE = 4000

/** The mark that stands for the words of users, models and tools in brief log lines. */
const LEFT_OUT = '…'

/**
 * An outbox gathers what an engine asks for while it handles one fact (an entry of the session's log): effects, such as model calls and tool calls,
 * and notices, which are events for the clients that follow the session.
 */
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

  /** The time of the fact (an entry of the session's log) that the engine handles now, in ms since 1970. */
  get at (): number {
    return this.#moment.at
  }

  /** The id of the next notice (event for the session's clients), unique among the events of all sessions. */
  get noticeId (): string {
    const { session, seq, notices } = this.#moment
    return `${session}:${seq}.${notices + this.notices.length}`
  }

  /** Adds a request to the model as an effect. Each method that adds an effect returns the effect's id. */
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

  /** Adds an effect by which the session waits for its user's next input. */
  wait (): string {
    return this.#add(id => ({ id, kind: 'wait' }))
  }

  /**
   * Shows the user the text, and writes the log line, that the table `ROWS` has for an outcome of an agent's step.
   * @param texts the texts for users, by the names in the table
   * @param own a text that replaces the one in the table, unless it is empty
   * @returns what was shown, if anything
   */
  say (outcome: Outcome, prefix: Prefix, texts: Readonly<Record<AgentText, string>>, values: JsonObject, own?: string): string | undefined {
    const row: Row = ROWS[outcome]
    const text = own !== undefined && own !== '' ? own : row.text === undefined ? undefined : texts[row.text]
    const shown = text === undefined || text === '' ? undefined : renderText(text, values)
    if (shown !== undefined) this.show(shown)
    // Every operator is allowed to read the brief log line, so it leaves out what a model or a tool has said.
    const brief = renderText(row.log, { ...values, reason: LEFT_OUT, ...(row.isModelsName === true ? { name: LEFT_OUT } : {}) })
    this.log(prefix, row.level, renderText(row.log, values), { brief, ...(Object.hasOwn(values, 'code') ? { code: values['code'] } : {}) })
    return shown
  }

  /** Shows the user a line of text. */
  show (text: string): void {
    this.notice('stdout', { text })
  }

  /**
   * Writes a line to the session's log events.
   * @param more fields of the event, such as the code of a failure; `brief` is the line without any text of a user, a model or a tool,
   * and is dropped when it equals the line
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

/**
 * Further fields of an event about an ended command: the effect that ran the command, and how long it ran.
 * @param effect id of the effect; left out when the client ran the command
 */
export function ranAs (effect: string | undefined, result: Json): JsonObject {
  if (effect === undefined) return {}
  const duration = isJsonObject(result) ? result['durationMs'] : undefined
  return { effect, ...(typeof duration === 'number' ? { durationMs: duration } : {}) }
}
