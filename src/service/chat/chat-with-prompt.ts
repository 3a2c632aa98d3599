import { checkAnswer } from './answer-check.ts'
import { type CountedModels, type CountedReply } from './counted-models.ts'
import { checkedStream } from './checked-stream.ts'
import { type ChatStream } from './chat-stream.ts'
import { type ChatRequest, prepareChat, type PreparationOptions } from './prepare-chat.ts'
import { type ToolLoop } from './tool-loop.ts'

/** The parts of the service that a chat needs. */
export interface ChatOptions extends PreparationOptions {
  readonly models: CountedModels
  readonly toolLoop: ToolLoop
}

/**
 * Chats: renders a prompt with variables, and gives a model's answer to it. Both methods throw the errors of a render and of a model, and
 * INPUT_TOO_LONG, PROMPT_REVISION, TOOL_FAILED and TOOL_LOOP_ENDLESS.
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
