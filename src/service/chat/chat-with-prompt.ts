import { Readable } from 'node:stream'
import { answerInvalid, ServiceError, toolLoopEndless, type Violation } from '../../base/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { cutProblem } from '../../engine/texts.ts'
import { type Answer, AnswerReader, type AskedCall } from '../../llm/answer.ts'
import { type ChunkFrame, errorEvent, type Frame } from '../../llm/frame.ts'
import { askedMessage, readReply, strictMessages } from '../../llm/history.ts'
import { jsonIn } from '../../llm/json-in.ts'
import type { FrameStream } from '../../llm/model-client.ts'
import { UpstreamError, UpstreamRefusal } from '../../llm/upstream-error.ts'
import type { AnswerSchema } from '../../registry/kinds/prompt-kind.ts'
import type { CallerSignal } from '../../runtime/deadline.ts'
import type { ToolCaller } from '../../tool/tool-caller.ts'
import type { CountedModels, CountedReply } from './models.ts'
import { callForModel, type ToolStep } from './model-tool-calls.ts'
import { type ChatRequest, type OfferedTools, type PreparationOptions, prepareChat, type PreparedChat } from './prepare-chat.ts'

/** The parts of the service that a chat needs. */
export interface ChatOptions extends PreparationOptions {
  readonly models: CountedModels
  readonly toolLoop: ToolLoop
}

/**
 * Runs chats: renders a prompt with variables, and asks a model for the answer to it. Both methods throw the errors of a render and of a model,
 * and INPUT_TOO_LONG, PROMPT_REVISION, TOOL_FAILED and TOOL_LOOP_ENDLESS.
 */
export interface ChatWithPrompt {
  /** Gives the whole answer. @throws ANSWER_INVALID too, for an answer that does not fit the prompt's schema */
  complete (request: ChatRequest): Promise<CountedReply>
  /** Gives the answer while it is being written. A failure after the first event becomes an error event at the end. */
  stream (request: ChatRequest): Promise<ChatStream>
}

export function createPromptChat (options: ChatOptions): ChatWithPrompt {
  const { models, toolLoop } = options
  return {
    async complete (request) {
      models.requireConfigured()
      const chat = await prepareChat(request, options)
      const reply = chat.offered === undefined
        ? await models.ask({ kind: 'chat', request: chat.body, call: chat.call })
        : await toolLoop.complete(chat, chat.offered)
      return chat.answer === undefined ? reply : checkedReply(reply, chat.promptId, chat.answer)
    },
    async stream (request) {
      models.requireConfigured()
      const chat = await prepareChat(request, options)
      if (chat.offered !== undefined) return await toolLoop.stream(chat, chat.offered)
      const { promptId, body, call, answer } = chat
      if (answer === undefined) return await models.ask({ kind: 'stream', request: body, call })
      return checkedStream(await models.ask({ kind: 'frames', request: body, call }), promptId, answer, call.signal)
    }
  }
}

/**
 * Checks a whole answer. Where the model wrote prose or a fence around its JSON, the caller gets the JSON alone.
 * @throws ANSWER_INVALID
 */
function checkedReply (reply: CountedReply, promptId: string, answer: AnswerSchema): CountedReply {
  const reader = new AnswerReader()
  reader.add(reply.value)
  const texts = checkAnswers(promptId, answer, reader.answers())
  const messageIn = (choice: Json): JsonObject => isJsonObject(choice) && isJsonObject(choice['message']) ? choice['message'] : {}
  const told = (reply.value['choices'] as readonly Json[]).map(choice => String(messageIn(choice)['content'] ?? '').trim())
  if (texts.every((text, index) => text === undefined || text === told[index])) return reply
  const value = parseJson(reply.body.toString('utf8')) as JsonObject
  const choices = (value['choices'] as readonly Json[]).map((choice, index) => {
    const content = texts[index]
    return content === undefined ? choice : { ...choice as JsonObject, message: { ...messageIn(choice), content } }
  })
  const plain = { ...value, choices }
  return { ...reply, value: plain, body: Buffer.from(stringifyJson(plain)) }
}

/**
 * Passes a model's stream on, and checks the answer at its end. An answer that does not have the form that the prompt declares ends with an
 * error event instead of `[DONE]`, since the parts already sent cannot be taken back.
 */
function checkedStream (stream: FrameStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): ChatStream {
  return chatStream(checked(stream, promptId, answer, signal), signal)
}

async function * checked (stream: FrameStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): AsyncGenerator<Buffer, void> {
  const reader = new AnswerReader()
  for await (const frame of readFrames(stream, signal)) {
    if (frame.kind === 'chunk') reader.add(frame.chunk)
    else if (frame.kind === 'done') checkAnswers(promptId, answer, reader.answers())
    yield frame.bytes
  }
}

/** The loop in which a model calls tools until it has an answer. */
interface ToolLoop {
  /**
   * Asks the model, and calls the tools that it asks for, until the model asks for no tool. @returns the model's last reply as it came
   * @throws TOOL_FAILED, TOOL_LOOP_ENDLESS, and the errors of a model
   */
  complete (chat: PreparedChat, offered: OfferedTools): Promise<CountedReply>
  /** Streams all turns; see `streamTurns`. An error before the first event is thrown. */
  stream (chat: PreparedChat, offered: OfferedTools): Promise<ChatStream>
}

interface ToolLoopOptions {
  readonly models: CountedModels
  readonly callTool: ToolCaller['call']
}

export function createToolLoop ({ models, callTool }: ToolLoopOptions): ToolLoop {
  return {
    async complete (chat, offered) {
      const turns = new Turns(chat, offered, callTool)
      for (;;) {
        const request = turns.request()
        const reply = await models.ask({ kind: 'chat', request, call: chat.call })
        const answer = readReply(reply.value, request)
        if (turns.callsIn(answer).length === 0) return reply
        await turns.answer(answer, chat.onToolStep)
      }
    },
    async stream (chat, offered) {
      const turns = new Turns(chat, offered, callTool)
      return streamTurns(turns, request => models.ask({ kind: 'frames', request, call: chat.call }), chat)
    }
  }
}

type OpenTurn = (request: JsonObject) => Promise<FrameStream>

/**
 * Streams a chat in which the model calls tools as one answer: the text of every turn as it is written, a comment (`: tool id outcome …`,
 * which clients ignore) for every call that was made, and the last turn in full. Calls of registered tools, and the ends of the turns in
 * which they are made, are left out, so that the client sees one answer with one `[DONE]`.
 */
async function streamTurns (turns: Turns, open: OpenTurn, chat: PreparedChat): Promise<ChatStream> {
  // The first turn is opened before the stream begins, so that its failure is an ordinary error rather than an event.
  const request = turns.request()
  return chatStream(allTurns({ request, stream: await open(request) }, turns, open, chat), chat.call.signal)
}

interface OpenedTurn { readonly request: JsonObject, readonly stream: FrameStream }

async function * allTurns (first: OpenedTurn, turns: Turns, open: OpenTurn, chat: PreparedChat): AsyncGenerator<Buffer, void> {
  const { promptId, call, answer, onToolStep } = chat
  const role = new RoleOnce()
  for (let { request, stream } = first; ; request = turns.request(), stream = await open(request)) {
    const reader = new TurnReader(role, request)
    for await (const frame of readFrames(stream, call.signal)) {
      const bytes = reader.read(frame)
      if (bytes !== undefined) yield bytes
    }
    const said = reader.answer()
    if (!reader.isDone || turns.callsIn(said).length === 0) {
      // Only the last turn is the answer; texts before tool calls are not checked against the prompt's schema.
      if (reader.isDone && answer !== undefined) checkAnswers(promptId, answer, [said])
      yield * reader.held()
      return
    }
    const steps: ToolStep[] = []
    await turns.answer(said, step => {
      steps.push(step)
      onToolStep(step)
    })
    yield * steps.map(comment)
  }
}

function comment ({ tool, outcome, durationMs }: ToolStep): Buffer {
  return Buffer.from(`: tool ${tool.replace(/\s/g, ' ')} ${outcome} ${Math.round(durationMs)} ms\n\n`)
}

/**
 * Reads the stream of one turn of a model, and decides which frames (events) the client may get already. From the first piece of a tool
 * call on, frames are held back until it is known whether the tool is a registered one, since clients never see calls of registered tools.
 * `[DONE]` is held back until it is known that this is the last turn.
 */
class TurnReader {
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

/**
 * Lets the `role` of a streamed answer pass only once. Every turn of a model begins with a role, but OpenAI's client for Python joins all
 * texts that it is sent, and would make `assistantassistant` of two turns. An event from which the role is removed keeps only its data.
 */
export class RoleOnce {
  #hasPassed = false

  /** The bytes that the client gets for a frame: those of the frame or, if its `role` has to be removed, those of a new one. */
  pass (frame: Frame): Buffer {
    if (frame.kind !== 'chunk' || !rolesIn(frame.chunk)) return frame.bytes
    if (this.#hasPassed) return withoutRoles(frame)
    this.#hasPassed = true
    return frame.bytes
  }
}

function rolesIn ({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.some(hasRole)
}

function hasRole (choice: Json): boolean {
  return isJsonObject(choice) && isJsonObject(choice['delta']) && Object.hasOwn(choice['delta'], 'role')
}

/** Removes the roles from a chunk (a piece of a streamed answer). The chunk's text is parsed again, so that numbers keep digits that a double would lose. */
function withoutRoles ({ bytes, data }: ChunkFrame & { readonly bytes: Buffer }): Buffer {
  const chunk = parseChunk(data)
  if (chunk === undefined) return bytes
  const { choices } = chunk
  return Buffer.from(`data: ${stringifyJson({ ...chunk, choices: (choices as Json[]).map(withoutRole) })}\n\n`)
}

/** Parses a chunk, keeping all digits of numbers; `undefined` for a chunk that could not be written as JSON again, such as one with a number out of range. */
function parseChunk (data: string): JsonObject | undefined {
  try {
    return parseJson(data) as JsonObject
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function withoutRole (choice: Json): Json {
  if (!isJsonObject(choice) || !isJsonObject(choice['delta'])) return choice
  const { role: _role, ...delta } = choice['delta']
  return { ...choice, delta }
}

/** The most tool calls that a model makes in one chat, over all turns; a render has the same limit. */
const MAX_CALLS = 100

/** The most that all turns of one chat add to its messages, in bytes of their JSON. */
const MAX_ADDED_BYTES = 8 * 1024 * 1024

/** The conversation of a chat whose model calls tools, turn by turn. */
class Turns {
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

/** The first segment of the paths in violations, such as `answer.score`. It stands for the model's whole answer. */
const ROOT = 'answer'

/** The most violations of the schema that the description of one wrong answer lists. */
const MAX_TOLD = 10

/**
 * Checks the answers of a model against the JSON schema that the prompt declares for them. An answer that calls tools, or in which the model refuses,
 * is not checked. An answer that was cut never fits, since what is missing may be what matters.
 * @returns the JSON texts of the answers; `undefined` for those that are not checked
 * @throws ANSWER_INVALID with every violation
 */
function checkAnswers (promptId: string, { compiled }: AnswerSchema, answers: readonly Answer[]): Array<string | undefined> {
  const checked = answers.map(answer => isNoAnswer(answer) ? undefined : check(compiled, answer))
  const violations = checked.flatMap(each => each?.violations ?? [])
  if (violations.length > 0) throw answerInvalid(promptId, violations)
  return checked.map(each => each?.text)
}

/**
 * Reads an answer as JSON, and checks it against a schema.
 * @returns the value, or the problem with it; neither of them for an answer that calls tools or refuses
 */
export function valueIn (compiled: AnswerSchema['compiled'], answer: Answer): { value: Json } | { problem: string } | Record<never, never> {
  if (isNoAnswer(answer)) return {}
  const { value, violations } = check(compiled, answer)
  if (violations.length === 0) return { value }
  return { problem: violations.slice(0, MAX_TOLD).map(({ path, message: wrong }) => `${path} ${wrong}`).join('; ') }
}

function isNoAnswer ({ calls, refusal, cut }: Answer): boolean {
  return !cut && (calls.length > 0 || refusal !== '')
}

interface Checked { readonly value: Json, readonly text?: string, readonly violations: readonly Violation[] }

function check (compiled: AnswerSchema['compiled'], { text, cut, finishReason }: Answer): Checked {
  const wrong = (message: string): Checked => ({ value: null, violations: [{ path: ROOT, message }] })
  if (cut) return wrong(`was cut (${String(finishReason)}): answer with less`)
  const found = jsonIn(text)
  return 'reason' in found ? wrong(`is not JSON: ${found.reason}`) : { ...found, violations: compiled.validate(found.value, ROOT) }
}

/** The answer of a model as a stream of events, while it is being written. */
export interface ChatStream {
  /** Server-sent events, up to `[DONE]` or one error event; destroy it when the client leaves. */
  readonly events: Readable
}

/**
 * Makes a stream of server-sent events. An expected failure (of the service or of the model's API) becomes an error event at the end, since the
 * client has seen a part of the answer by then. When the caller has left, the stream just ends.
 */
function chatStream (events: AsyncIterable<Buffer>, signal: CallerSignal): ChatStream {
  return { events: Readable.from(withErrorEvent(events, signal), { objectMode: false }) }
}

/** The frames (events) of a model's stream, one by one. They end without an error when the caller has left. */
export async function * readFrames ({ frames }: FrameStream, signal: CallerSignal): AsyncGenerator<Frame, void> {
  try {
    for await (const list of frames) yield * list
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function * withErrorEvent (events: AsyncIterable<Buffer>, signal: CallerSignal): AsyncGenerator<Buffer, void> {
  try {
    yield * events
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof UpstreamRefusal) yield errorEvent({ message: error.inWords, code: error.code })
    else if (error instanceof ServiceError || error instanceof UpstreamError) yield errorEvent(error)
    else throw error
  }
}
