import { toolLoopEndless } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { cutProblem } from '../../engine/texts/answer-texts.ts'
import { type Answer, type AskedCall } from '../../llm/answer.ts'
import { askedMessage, strictMessages } from '../../llm/history.ts'
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

  /**
   * The next request to the model. In the last turn the model is not allowed to call tools, so it has to answer with what it knows. A caller who
   * requires a call has it in the first turn; required in each, the model could never answer.
   */
  request (): JsonObject {
    this.#turn++
    const asked = { ...this.#chat.body, messages: this.#messages }
    if (this.#turn === this.#offered.maxTurns) return { ...asked, tool_choice: 'none' }
    const { tool_choice: choice = 'auto' } = this.#chat.body
    return this.#turn === 1 || choice === 'none' || choice === 'auto' ? asked : { ...asked, tool_choice: 'auto' }
  }

  /**
   * Gives those tool calls of the model's message that the service has to answer. Calls of functions that nobody has declared are among them.
   * The list is empty if the message also calls a function that the request declares, or has a call without a name: then the caller has to answer.
   */
  callsIn ({ calls }: Answer): readonly AskedCall[] {
    return calls.every(({ name }) => name !== '' && !this.#offered.others.has(name)) ? calls : []
  }

  /** Makes the tool calls of an answer, and adds the answer and the results to the conversation. @throws TOOL_FAILED, TOOL_LOOP_ENDLESS */
  async answer (answer: Answer, onStep: (step: ToolStep) => void): Promise<void> {
    const { promptId, call } = this.#chat
    const { maxTurns, byName } = this.#offered
    const { calls, cut, text, finishReason } = answer
    if (this.#turn >= maxTurns) throw toolLoopEndless(promptId, `it still calls tools after ${maxTurns} turns`)
    if (cut) {
      // A cut call may lack what matters most, so none is made.
      const told = { role: 'user', content: `Your answer is unusable: ${cutProblem(finishReason)}` }
      this.#messages = strictMessages([...this.#messages, { role: 'assistant', content: text }, told])
      return
    }
    const message = askedMessage(answer)
    this.#calls += calls.length
    if (this.#calls > MAX_CALLS) throw toolLoopEndless(promptId, `it has made more than ${MAX_CALLS} calls`)
    this.#count(message)
    call.signal.throwIfAborted()
    const results = await callForModel(calls, byName, { turn: this.#turn, call, callTool: this.#callTool, onStep, onAnswer: result => this.#count(result) })
    if (call.deadline !== undefined && performance.now() >= call.deadline) {
      throw toolLoopEndless(promptId, 'its tools left no time for another turn within LLM_TIMEOUT_MS')
    }
    this.#messages = strictMessages([...this.#messages, message, ...results])
  }

  #count (message: JsonObject): void {
    this.#addedBytes += Buffer.byteLength(stringifyJson(message))
    if (this.#addedBytes > MAX_ADDED_BYTES) {
      throw toolLoopEndless(this.#chat.promptId, `its calls and their results are larger than ${MAX_ADDED_BYTES} bytes together`)
    }
  }
}
