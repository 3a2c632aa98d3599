import { Readable } from 'node:stream'
import { ServiceError } from '../../base/errors.ts'
import { errorEvent } from '../../llm/stream/event-relay.ts'
import { type ModelStream } from '../../llm/model-client.ts'
import { UpstreamError, UpstreamRefusal } from '../../llm/upstream-error.ts'
import { type JsonObject } from '../../base/json.ts'
import { checkMessages } from './answer-check.ts'
import { type ChatStream, readEvents } from './chat-stream.ts'
import { type ToolStep } from './model-tool-calls.ts'
import { type PreparedChat } from './prepare-chat.ts'
import { RoleOnce } from './role-once.ts'
import { TurnReader } from './turn-reader.ts'
import { type Turns } from './turns.ts'

type OpenTurn = (request: JsonObject) => Promise<ModelStream>

/**
 * All turns of a chat as one stream: the text of every turn as it is written, a comment (`: tool id outcome …`, which
 * clients ignore) for every call that was made, and the last turn in full. Calls of our tools and the ends of the turns
 * that asked for them are left out, so the client sees one answer with one `[DONE]`.
 */
export async function streamTurns (turns: Turns, open: OpenTurn, chat: PreparedChat): Promise<ChatStream> {
  // Before the first event a failure is an error like that of a whole reply.
  const first = await open(turns.request())
  return { events: Readable.from(told(first, turns, open, chat), { objectMode: false }) }
}

/** Ends with an error event for what is known to go wrong; the client has seen a part of the answer by then. */
async function * told (first: ModelStream, turns: Turns, open: OpenTurn, chat: PreparedChat): AsyncGenerator<Buffer, void> {
  try {
    yield * allTurns(first, turns, open, chat)
  } catch (error) {
    if (chat.call.signal.aborted) return
    if (error instanceof UpstreamRefusal) yield errorEvent({ message: error.inWords, code: error.code })
    else if (error instanceof ServiceError || error instanceof UpstreamError) yield errorEvent(error)
    else throw error
  }
}

async function * allTurns (first: ModelStream, turns: Turns, open: OpenTurn, { promptId, call, answer, onToolStep }: PreparedChat): AsyncGenerator<Buffer, void> {
  const role = new RoleOnce()
  for (let stream = first; ; stream = await open(turns.request())) {
    const reader = new TurnReader(role)
    for await (const event of readEvents(stream, call.signal)) {
      const bytes = reader.read(event)
      if (bytes !== undefined) yield bytes
    }
    const message = reader.message()
    const calls = reader.isDone ? turns.callsIn(message) : []
    if (calls.length === 0) {
      // The last turn is the answer; what the model wrote before its calls is not.
      if (reader.isDone && answer !== undefined) checkMessages(promptId, answer, [message])
      yield * reader.held()
      return
    }
    const steps: ToolStep[] = []
    await turns.answer(message, calls, step => {
      steps.push(step)
      onToolStep(step)
    })
    yield * steps.map(comment)
  }
}

function comment ({ tool, outcome, durationMs }: ToolStep): Buffer {
  return Buffer.from(`: tool ${tool.replace(/\s/g, ' ')} ${outcome} ${Math.round(durationMs)} ms\n\n`)
}
