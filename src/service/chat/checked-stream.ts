import { Readable } from 'node:stream'
import { ServiceError } from '../../base/errors.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { errorEvent } from '../../llm/stream/event-relay.ts'
import { UpstreamError } from '../../llm/upstream-error.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'
import { checkMessages } from './answer-check.ts'
import { type ChatStream, isDone, readEvents } from './chat-stream.ts'
import { ReplyAssembler } from './reply-assembler.ts'

/**
 * The same stream, but an answer that is not what its prompt returns ends with an error event instead of `[DONE]`: what
 * has been passed on cannot be taken back.
 */
export function checkedStream (stream: ChatStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): ChatStream {
  return { events: Readable.from(checked(stream, promptId, answer, signal), { objectMode: false }) }
}

async function * checked (stream: ChatStream, promptId: string, answer: AnswerSchema, signal: CallerSignal): AsyncGenerator<Buffer, void> {
  const assembler = new ReplyAssembler()
  try {
    for await (const event of readEvents(stream, signal)) {
      if (isDone(event)) checkMessages(promptId, answer, assembler.messages())
      else if (event.data !== undefined) assembler.add(event.data)
      yield event.bytes
    }
  } catch (error) {
    if (!(error instanceof ServiceError) && !(error instanceof UpstreamError)) throw error
    yield errorEvent(error)
  }
}
