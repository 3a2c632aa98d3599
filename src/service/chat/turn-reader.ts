import { type JsonObject } from '../../base/json.ts'
import { type Answer, AnswerReader } from '../../llm/answer.ts'
import { type Frame } from '../../llm/stream/frame.ts'
import { type RoleOnce } from './role-once.ts'

/**
 * Reads the stream of one turn of a model, and decides which frames (events) the client may get already. From the first piece of a tool
 * call on, frames are held back until it is known whether the tool is a registered one, since clients never see calls of registered tools.
 * `[DONE]` is held back until it is known that this is the last turn.
 */
export class TurnReader {
  readonly #role: RoleOnce
  readonly #reader: AnswerReader
  #held: Frame[] = []
  #isHolding = false
  /** Whether the stream has ended with `[DONE]`, rather than being cut. */
  isDone = false

  /** Makes the reader of one turn's stream. @param role removes the `role` from the streams of all turns but the first @param request of the turn */
  constructor (role: RoleOnce, request: JsonObject) {
    this.#role = role
    this.#reader = new AnswerReader(request)
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
    else if (frame.kind === 'chunk' && this.#reader.add(frame.chunk).hasCall) this.#isHolding = true
    if (!this.#isHolding) return this.#role.pass(frame)
    this.#held.push(frame)
    return undefined
  }

  /** What the model has answered in the turn. */
  answer (): Answer {
    return this.#reader.answer()
  }

  /** The frames that were held back, as the client gets them, if the turn has ended with `[DONE]`; an empty list if its stream was cut. */
  held (): Buffer[] {
    return this.isDone ? this.#held.map(frame => this.#role.pass(frame)) : []
  }
}
