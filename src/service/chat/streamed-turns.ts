import { type JsonObject } from '../../base/json.ts'
import { type FrameStream } from '../../llm/model-client.ts'
import { checkAnswers } from './answer-check.ts'
import { type ChatStream, chatStream, readFrames } from './chat-stream.ts'
import { type ToolStep } from './model-tool-calls.ts'
import { type PreparedChat } from './prepare-chat.ts'
import { RoleOnce } from './role-once.ts'
import { TurnReader } from './turn-reader.ts'
import { type Turns } from './turns.ts'

type OpenTurn = (request: JsonObject) => Promise<FrameStream>

/**
 * Streams a chat in which the model calls tools as one answer: the text of every turn as it is written, a comment (`: tool id outcome …`,
 * which clients ignore) for every call that was made, and the last turn in full. Calls of registered tools, and the ends of the turns in
 * which they are made, are left out, so that the client sees one answer with one `[DONE]`.
 */
export async function streamTurns (turns: Turns, open: OpenTurn, chat: PreparedChat): Promise<ChatStream> {
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
