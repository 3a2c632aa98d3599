import { Readable } from 'node:stream'
import { answerInvalid, ServiceError, toolLoopEndless, type Violation } from '../../base/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, objectOf, ownField, parseJson, stringifyJson } from '../../base/json.ts'
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
import { type ChatRequest, type OfferedTools, type PrepareChatOptions, prepareChat, type PreparedChat } from './prepare-chat.ts'

/** Throws the errors of a render and of a model, and INPUT_TOO_LONG, PROMPT_REVISION, TOOL_FAILED and TOOL_LOOP_ENDLESS. */
export interface ChatWithPrompt {
  /** @throws ANSWER_INVALID too */
  complete (request: ChatRequest): Promise<CountedReply>
  /** A failure after the first event becomes an error event at the end. */
  /** Server-sent events, up to `[DONE]` or one error event; destroy it when the client leaves. */
  stream (request: ChatRequest): Promise<Readable>
}

export function createPromptChat (options: PrepareChatOptions & { readonly models: CountedModels, readonly toolLoop: ToolLoop }): ChatWithPrompt {
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
      if (answer === undefined) return (await models.ask({ kind: 'stream', request: body, call })).events
      return checkedStream(await models.ask({ kind: 'frames', request: body, call }), promptId, answer, call.signal)
    }
  }
}

/** Prose or a fence that the model wrote around its JSON is removed. @throws ANSWER_INVALID */
function checkedReply (reply: CountedReply, promptId: string, answer: AnswerSchema): CountedReply {
  const reader = new AnswerReader()
  reader.add(reply.value)
  const texts = checkAnswers(promptId, answer, reader.answers())
  const messageIn = (choice: Json): JsonObject => objectOf(ownField(choice, 'message'))
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

/** A wrong answer ends with an error event instead of `[DONE]`, since the parts already sent cannot be taken back. */
function checkedStream (stream: FrameStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): Readable {
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

interface ToolLoop {
  /** Gives the model's last reply as it came. @throws TOOL_FAILED, TOOL_LOOP_ENDLESS, and the errors of a model */
  complete (chat: PreparedChat, offered: OfferedTools): Promise<CountedReply>
  /** Throws an error that comes before the first event; a later one is an event of the stream. */
  stream (chat: PreparedChat, offered: OfferedTools): Promise<Readable>
}

export function createToolLoop ({ models, callTool }: { readonly models: CountedModels, readonly callTool: ToolCaller['call'] }): ToolLoop {
  return {
    async complete (chat, offered) {
      const turns = new Turns(chat, offered, callTool)
      for (let spent: number | undefined = 0; ;) {
        const request = turns.request()
        const reply = await turns.ask(() => models.ask({ kind: 'chat', request, call: chat.call }))
        const answer = readReply(reply.value, request)
        spent = spent === undefined || reply.cost === undefined ? undefined : spent + reply.cost
        if (turns.callsIn(answer).length === 0) return { ...reply, cost: spent }
        await turns.answer(answer, chat.onToolStep)
      }
    },
    async stream (chat, offered) {
      const turns = new Turns(chat, offered, callTool)
      return streamTurns(turns, request => turns.ask(() => models.ask({ kind: 'frames', request, call: chat.call })), chat)
    }
  }
}

type OpenTurn = (request: JsonObject) => Promise<FrameStream>

/** All turns as one answer with one `[DONE]`: registered tools' calls become comments (`: tool id outcome …`), which clients ignore. */
async function streamTurns (turns: Turns, open: OpenTurn, chat: PreparedChat): Promise<Readable> {
  // Opened before the stream begins, so that a failure is an ordinary error rather than an event.
  const request = turns.request()
  return chatStream(allTurns(request, await open(request), turns, open, chat), chat.call.signal)
}

async function * allTurns (request: JsonObject, stream: FrameStream, turns: Turns, open: OpenTurn, chat: PreparedChat): AsyncGenerator<Buffer, void> {
  const { promptId, call, answer, onToolStep } = chat
  const role = new RoleOnce()
  for (; ; request = turns.request(), stream = await open(request)) {
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

/** Holds frames back from the first piece of a tool call on: clients never see registered tools' calls, nor an early `[DONE]`. */
class TurnReader {
  readonly #role: RoleOnce
  readonly #reader: AnswerReader
  #held: Frame[] = []
  #isHolding = false
  isDone = false

  constructor (role: RoleOnce, request: JsonObject) {
    this.#role = role
    this.#reader = new AnswerReader(request)
  }

  /** @throws UpstreamError when the messages become too large to be held in memory */
  read (frame: Frame): Buffer | undefined {
    if (frame.kind === 'done') this.isDone = this.#isHolding = true
    // The frames that are held back never reach the client then.
    else if (frame.kind === 'error') return frame.bytes
    else if (frame.kind === 'chunk' && this.#reader.add(frame.chunk).hasCall) this.#isHolding = true
    if (!this.#isHolding) return this.#role.pass(frame)
    this.#held.push(frame)
    return undefined
  }

  answer (): Answer {
    return this.#reader.answer()
  }

  /** The frames that were held back, as the client gets them, if the turn has ended with `[DONE]`; an empty list if its stream was cut. */
  held (): Buffer[] {
    return this.isDone ? this.#held.map(frame => this.#role.pass(frame)) : []
  }
}

/** Lets `role` pass once: OpenAI's client for Python joins the roles of all turns to `assistantassistant`. */
export class RoleOnce {
  #hasPassed = false

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

/** The chunk's text is parsed again, so that numbers keep digits that a double would lose. */
function withoutRoles ({ bytes, data }: ChunkFrame & { readonly bytes: Buffer }): Buffer {
  const chunk = parseChunk(data)
  if (chunk === undefined) return bytes
  const { choices } = chunk
  return Buffer.from(`data: ${stringifyJson({ ...chunk, choices: (choices as Json[]).map(withoutRole) })}\n\n`)
}

/** `undefined` for a chunk that could not be written as JSON again, such as one with a number out of range. */
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

/** Over all turns; a render has the same limit. */
const MAX_CALLS = 100

/** In bytes of JSON, over all turns. */
const MAX_ADDED_BYTES = 8 * 1024 * 1024

class Turns {
  readonly #chat: PreparedChat
  readonly #offered: OfferedTools
  readonly #callTool: ToolCaller['call']
  #messages: readonly JsonObject[]
  readonly #steps: ToolStep[] = []
  #turn = 0
  #calls = 0
  #addedBytes = 0

  constructor (chat: PreparedChat, offered: OfferedTools, callTool: ToolCaller['call']) {
    this.#chat = chat
    this.#offered = offered
    this.#callTool = callTool
    this.#messages = chat.body.messages
  }

  /** The last turn allows no calls, so it must answer; a required call is required in the first alone, or no turn could answer. */
  request (): JsonObject {
    this.#turn++
    const asked = { ...this.#chat.body, messages: this.#messages }
    if (this.#turn === this.#offered.maxTurns) return { ...asked, tool_choice: 'none' }
    const { tool_choice: choice = 'auto' } = this.#chat.body
    return this.#turn === 1 || choice === 'none' || choice === 'auto' ? asked : { ...asked, tool_choice: 'auto' }
  }

  /** A loop that ends in the middle, as by a budget that is used up, says what it has done: tools may have changed something. */
  async ask<R> (work: () => Promise<R>): Promise<R> {
    try {
      return await work()
    } catch (error) {
      if (this.#turn === 1 || !(error instanceof ServiceError)) throw error
      const { code, statusCode, message, details, headers } = error
      const steps = this.#steps.map(({ tool, outcome }) => ({ tool, outcome }))
      const done = `the model has answered ${this.#turn - 1} times before, and called ${steps.length} tools`
      throw new ServiceError(code, statusCode, `${message}; ${done}`, { ...details, turns: this.#turn - 1, toolSteps: steps }, error, headers)
    }
  }

  /** Calls of undeclared functions are the service's; with a call of the request's function, or without a name, all are the caller's. */
  callsIn ({ calls }: Answer): readonly AskedCall[] {
    return calls.every(({ name }) => name !== '' && !this.#offered.others.has(name)) ? calls : []
  }

  /** @throws TOOL_FAILED, TOOL_LOOP_ENDLESS */
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
    const results = await callForModel(calls, byName, {
      turn: this.#turn,
      call,
      callTool: this.#callTool,
      onStep: step => {
        this.#steps.push(step)
        onStep(step)
      },
      onAnswer: result => this.#count(result)
    })
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

const ROOT = 'answer'

const MAX_TOLD = 10

/** Answers that call tools or refuse are not checked (`undefined`); a cut one never fits: what lacks may matter. @throws ANSWER_INVALID */
function checkAnswers (promptId: string, { compiled }: AnswerSchema, answers: readonly Answer[]): Array<string | undefined> {
  const checked = answers.map(answer => isNoAnswer(answer) ? undefined : check(compiled, answer))
  const violations = checked.flatMap(each => each?.violations ?? [])
  if (violations.length > 0) throw answerInvalid(promptId, violations)
  return checked.map(each => each?.text)
}

/** Gives neither a value nor a problem for an answer that calls tools or refuses. */
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

/** An expected failure becomes an error event at the end, since the client has seen a part of the answer by then. */
function chatStream (events: AsyncIterable<Buffer>, signal: CallerSignal): Readable {
  return Readable.from(withErrorEvent(events, signal), { objectMode: false })
}

/** They end without an error when the caller has left. */
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
