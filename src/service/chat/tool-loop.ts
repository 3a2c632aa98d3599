import { readReply } from '../../llm/history.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'
import { type ChatStream } from './chat-stream.ts'
import { type CountedModels, type CountedReply } from './counted-models.ts'
import { type OfferedTools } from './offered-tools.ts'
import { type PreparedChat } from './prepare-chat.ts'
import { streamTurns } from './streamed-turns.ts'
import { Turns } from './turns.ts'

/** The loop in which a model calls tools until it has an answer. */
export interface ToolLoop {
  /**
   * Asks the model, and calls the tools that it asks for, until the model asks for no tool. @returns the model's last reply as it came
   * @throws TOOL_FAILED, TOOL_LOOP_ENDLESS, and the errors of a model
   */
  complete (chat: PreparedChat, offered: OfferedTools): Promise<CountedReply>
  /** Streams all turns; see `streamTurns`. An error before the first event is thrown. */
  stream (chat: PreparedChat, offered: OfferedTools): Promise<ChatStream>
}

export interface ToolLoopOptions {
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
