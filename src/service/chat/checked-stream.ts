import { type FrameStream } from '../../llm/model-client.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { checkMessages } from './answer-check.ts'
import { type ChatStream, chatStream, readFrames } from './chat-stream.ts'
import { ReplyAssembler } from './reply-assembler.ts'

/**
 * Passes a model's stream on, and checks the whole answer at its end. An answer that does not fit the prompt's JSON schema ends with an
 * error event instead of `[DONE]`, since the parts already sent cannot be taken back.
 */
export function checkedStream (stream: FrameStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): ChatStream {
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
