import { checkAnswers } from './answer-check.ts'
import { AnswerReader } from '../../llm/answer.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { type CountedModels, type CountedReply } from './counted-models.ts'
import { type ChatStream, chatStream, readFrames } from './chat-stream.ts'
import { type ChatRequest, prepareChat, type PreparationOptions } from './prepare-chat.ts'
import { type ToolLoop } from './tool-loop.ts'
import { type FrameStream } from '../../llm/model-client.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'

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
