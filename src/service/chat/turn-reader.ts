import { type ServerSentEvent } from '../../llm/stream/server-sent-events.ts'
import { type JsonObject } from '../../base/json.ts'
import { isDone } from './chat-stream.ts'
import { ReplyAssembler } from './reply-assembler.ts'
import { type RoleOnce } from './role-once.ts'

/**
 * Reads one turn of a model along. From the first piece of a tool call on, events are held until it is known whose the
 * call is: the service's own are never seen by the client. Its `[DONE]` is held until it is known that it is the last turn.
 */
export class TurnReader {
  readonly #role: RoleOnce
  readonly #assembler = new ReplyAssembler()
  #held: ServerSentEvent[] = []
  #isHolding = false
  /** Whether the stream has come to its true end. */
  isDone = false

  /** @param role knows whether an earlier turn has told it */
  constructor (role: RoleOnce) {
    this.#role = role
  }

  /** @returns the event's bytes when they may be passed on now. @throws UpstreamError when there is too much to hold */
  read (event: ServerSentEvent): Buffer | undefined {
    if (isDone(event)) this.isDone = this.#isHolding = true
    else if (event.data !== undefined && this.#assembler.add(event.data)) this.#isHolding = true
    if (!this.#isHolding) return this.#role.pass(event)
    this.#held.push(event)
    return undefined
  }

  /** The message that the turn has added up to. */
  message (): JsonObject {
    return this.#assembler.messages()[0] ?? {}
  }

  /** What was held back; of a turn that was cut, which ends with an error event, that only. */
  held (): Buffer[] {
    return (this.isDone ? this.#held : this.#held.slice(-1)).map(event => this.#role.pass(event))
  }
}
