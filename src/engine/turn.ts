import { type JsonObject } from '../base/json.ts'
import { effectId, type Moment } from '../session/engine.ts'
import { type Effect, type ModelEffect, type Notice, type ToolEffect } from '../session/model.ts'

/** What an engine gathers while it takes one fact. */
export class Turn {
  readonly effects: Effect[] = []
  readonly notices: Notice[] = []
  readonly #moment: Moment

  constructor (moment: Moment) {
    this.#moment = moment
  }

  /** Each gives the effect's id. */
  askModel (effect: Omit<ModelEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'llm' }))
  }

  callTool (effect: Omit<ToolEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'tool' }))
  }

  /** Waits for the user. */
  wait (): string {
    return this.#add(id => ({ id, kind: 'wait' }))
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
