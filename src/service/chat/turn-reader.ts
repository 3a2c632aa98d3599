import { type JsonObject } from '../../base/json.ts'
import { type Frame } from '../../llm/stream/frame.ts'
import { ReplyAssembler } from './reply-assembler.ts'
import { type RoleOnce } from './role-once.ts'

/**
 * Reads the stream of one turn of a model, and decides which frames (events) the client may get already. From the first piece of a tool
 * call on, frames are held back until it is known whether the tool is a registered one, since clients never see calls of registered tools.
 * `[DONE]` is held back until it is known that this is the last turn.
 */
export class TurnReader {
  readonly #role: RoleOnce
  readonly #assembler = new ReplyAssembler()
  #held: Frame[] = []
  #isHolding = false
  /** Whether the stream has ended with `[DONE]`, rather than being cut. */
  isDone = false

  /** Makes the reader of one turn's stream. @param role removes the `role` from the streams of all turns but the first */
  constructor (role: RoleOnce) {
    this.#role = role
  }

  /**
   * Takes the next frame (event) of the stream.
   * @returns the bytes to send to the client now; `undefined` if there are none
   * @throws UpstreamError when the messages become too large to be held in memory
   */
  read (frame: Frame): Buffer | undefined {
    if (frame.kind === 'done') this.isDone = this.#isHolding = true
    // An error event of the model's API goes to the client. The frames that are held back never reach the client then.
    else if (frame.kind === 'error') return frame.bytes
    else if (frame.kind === 'chunk' && this.#assembler.add(frame)) this.#isHolding = true
    if (!this.#isHolding) return this.#role.pass(frame)
    this.#held.push(frame)
    return undefined
  }

  /** The whole message of the turn, put together from its frames. */
  message (): JsonObject {
    return this.#assembler.messages()[0] ?? {}
  }

  /** The frames that were held back, as the client gets them, if the turn has ended with `[DONE]`; an empty list if its stream was cut. */
  held (): Buffer[] {
    return this.isDone ? this.#held.map(frame => this.#role.pass(frame)) : []
  }
}
