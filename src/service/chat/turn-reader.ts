import { type JsonObject } from '../../base/json.ts'
import { type Frame } from '../../llm/stream/frame.ts'
import { ReplyAssembler } from './reply-assembler.ts'
import { type RoleOnce } from './role-once.ts'

/**
 * Reads one turn of a model along. From the first piece of a tool call on, frames are held until it is known whose the
 * call is: the service's own are never seen by the client. Its `[DONE]` is held until it is known that it is the last turn.
 */
export class TurnReader {
  readonly #role: RoleOnce
  readonly #assembler = new ReplyAssembler()
  #held: Frame[] = []
  #isHolding = false
  /** Whether the stream has come to its true end. */
  isDone = false

  /** @param role knows whether an earlier turn has passed one on */
  constructor (role: RoleOnce) {
    this.#role = role
  }

  /** @returns the bytes that may be passed on now. @throws UpstreamError when there is too much to hold */
  read (frame: Frame): Buffer | undefined {
    if (frame.kind === 'done') this.isDone = this.#isHolding = true
    // Of a turn that is cut, nothing that is held is for the client.
    else if (frame.kind === 'error') return frame.bytes
    else if (frame.kind === 'chunk' && this.#assembler.add(frame)) this.#isHolding = true
    if (!this.#isHolding) return this.#role.pass(frame)
    this.#held.push(frame)
    return undefined
  }

  /** The message that the turn has added up to. */
  message (): JsonObject {
    return this.#assembler.messages()[0] ?? {}
  }

  /** What was held back, of a turn that has come to its true end. */
  held (): Buffer[] {
    return this.isDone ? this.#held.map(frame => this.#role.pass(frame)) : []
  }
}
