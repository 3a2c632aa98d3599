import { toolLoopEndless } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type AskedCall, callsOf } from '../../engine/shared/choice.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'
import { callForModel, type ToolStep } from './model-tool-calls.ts'
import { type OfferedTools } from './offered-tools.ts'
import { type PreparedChat } from './prepare-chat.ts'

/** The most tool calls that a model makes in one chat, over all turns; a render has the same limit. */
const MAX_CALLS = 100

/** The most that all turns of one chat add to its messages, in bytes of their JSON. */
const MAX_ADDED_BYTES = 8 * 1024 * 1024

/** The conversation of a chat whose model calls tools, turn by turn. */
export class Turns {
  readonly #chat: PreparedChat
  readonly #offered: OfferedTools
  readonly #callTool: ToolCaller['call']
  #messages: readonly JsonObject[]
  #turn = 0
  #calls = 0
  #addedBytes = 0

  constructor (chat: PreparedChat, offered: OfferedTools, callTool: ToolCaller['call']) {
    this.#chat = chat
    this.#offered = offered
    this.#callTool = callTool
    this.#messages = chat.body.messages
  }

  /** The next request to the model. In the last turn the model is not allowed to call tools, so it has to answer with what it knows. */
  request (): JsonObject {
    this.#turn++
    const choice = this.#turn === this.#offered.maxTurns ? { tool_choice: 'none' } : {}
    return { ...this.#chat.body, messages: this.#messages, ...choice }
  }

  /**
   * Gives those tool calls of the model's message that the service has to answer. Calls of functions that nobody has declared are among them.
   * The list is empty if the message also calls a function that the request declares, or has a call without a name: then the caller has to answer.
   */
  callsIn (message: JsonObject): AskedCall[] {
    const calls = callsOf(message)
    return calls.every(({ name }) => name !== '' && !this.#offered.others.has(name)) ? calls : []
  }

  /** Makes the tool calls of a model's message, and adds this message and the results to the conversation. @throws TOOL_FAILED, TOOL_LOOP_ENDLESS */
  async answer (message: JsonObject, calls: readonly AskedCall[], onStep: (step: ToolStep) => void): Promise<void> {
    const { promptId, call } = this.#chat
    const { maxTurns, byName } = this.#offered
    if (this.#turn >= maxTurns) throw toolLoopEndless(promptId, `it still calls tools after ${maxTurns} turns`)
    this.#calls += calls.length
    if (this.#calls > MAX_CALLS) throw toolLoopEndless(promptId, `it has made more than ${MAX_CALLS} calls`)
    this.#count(message)
    call.signal.throwIfAborted()
    const results = await callForModel(calls, byName, { turn: this.#turn, call, callTool: this.#callTool, onStep, onAnswer: answer => this.#count(answer) })
    if (call.deadline !== undefined && performance.now() >= call.deadline) {
      throw toolLoopEndless(promptId, 'its tools left no time for another turn within LLM_TIMEOUT_MS')
    }
    this.#messages = [...this.#messages, message, ...results]
  }

  #count (message: JsonObject): void {
    this.#addedBytes += Buffer.byteLength(stringifyJson(message))
    if (this.#addedBytes > MAX_ADDED_BYTES) {
      throw toolLoopEndless(this.#chat.promptId, `its calls and their results are larger than ${MAX_ADDED_BYTES} bytes together`)
    }
  }
}
