import { type JsonObject } from '../../base/json.ts'
import { type Frame } from '../../llm/stream/frame.ts'
import { ReplyAssembler } from './reply-assembler.ts'
import { type RoleOnce } from './role-once.ts'

/**
 * Reads the stream of one turn, and says which frames the client may get now. From the first piece of a tool call on, frames are held back
 * until it is known whose tool it is: clients never see calls of the service's own. `[DONE]` is held back until it is known that this is
 * the last turn.
 */
export class TurnReader {
  readonly #role: RoleOnce
  readonly #assembler = new ReplyAssembler()
  #held: Frame[] = []
  #isHolding = false
  /** Whether the stream has ended with `[DONE]` and was not cut. */
  isDone = false

  /** @param role knows whether an earlier turn has passed a role on */
  constructor (role: RoleOnce) {
    this.#role = role
  }

  /** Reads a frame. @returns the bytes that the client may get now @throws UpstreamError when the messages become too large to be held */
  read (frame: Frame): Buffer | undefined {
    if (frame.kind === 'done') this.isDone = this.#isHolding = true
    // A turn that is cut passes on its error; the frames that are held back never reach the client.
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

  /** The frames that were held back, if the turn has ended and was not cut. */
  held (): Buffer[] {
    return this.isDone ? this.#held.map(frame => this.#role.pass(frame)) : []
  }
}
