import { checkAnswer, checkMessages } from './answer-check.ts'
import { type CountedModels, type CountedReply } from './counted-models.ts'
import { type ChatStream, chatStream, readFrames } from './chat-stream.ts'
import { type ChatRequest, prepareChat, type PreparationOptions } from './prepare-chat.ts'
import { type ToolLoop } from './tool-loop.ts'
import { type FrameStream } from '../../llm/model-client.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { ReplyAssembler } from './reply-assembler.ts'

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
      if (chat.answer !== undefined) checkAnswer(chat.promptId, chat.answer, reply.value)
      return reply
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
 * Passes a model's stream on, and checks the answer at its end. An answer that does not have the form that the prompt declares ends with an
 * error event instead of `[DONE]`, since the parts already sent cannot be taken back.
 */
function checkedStream (stream: FrameStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): ChatStream {
  return chatStream(checked(stream, promptId, answer, signal), signal)
}

async function * checked (stream: FrameStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): AsyncGenerator<Buffer, void> {
  const assembler = new ReplyAssembler()
  for await (const frame of readFrames(stream, signal)) {
    if (frame.kind === 'chunk') assembler.add(frame)
    else if (frame.kind === 'done') checkMessages(promptId, answer, assembler.messages())
    yield frame.bytes
  }
}
