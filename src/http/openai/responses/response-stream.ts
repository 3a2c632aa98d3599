import { Readable } from 'node:stream'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { errorIn } from '../../../llm/answer.ts'
import { MAX_EVENT_BYTES } from '../../../llm/model-client.ts'
import { UpstreamError } from '../../../llm/upstream-error.ts'
import { EventScanner, type ServerSentEvent } from '../../../runtime/server-sent-events.ts'
import { type ChatStream } from '../../../service/chat/chat-stream.ts'
import { ResponseEvents } from './response-events.ts'

/**
 * Translates the stream of a chat completion into the stream of OpenAI's Responses API. Each chunk is translated as soon as it comes;
 * comments in the stream are passed on unchanged.
 * @param body the request
 */
export function responseStream ({ events }: ChatStream, body: JsonObject): ChatStream {
  return { events: Readable.from(translated(events, new ResponseEvents(body)), { objectMode: false }) }
}

async function * translated (events: Readable, response: ResponseEvents): AsyncGenerator<Buffer, void> {
  const scanner = new EventScanner<ServerSentEvent>(MAX_EVENT_BYTES, event => event)
  try {
    for await (const bytes of events as AsyncIterable<Buffer>) {
      for (const event of scanner.feed(bytes)) yield * translate(event, response)
    }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    yield response.fail(error.message, 'LLM_UPSTREAM')
  }
}

function * translate ({ bytes, data }: ServerSentEvent, response: ResponseEvents): Generator<Buffer, void> {
  if (data === undefined) return yield bytes
  if (data.trim() === '[DONE]') return yield * response.end()
  // The parser cannot fail here: the code that reads the model's API has checked the form of every event.
  const chunk = JSON.parse(data) as Json
  if (!isJsonObject(chunk)) return
  const error = errorIn(chunk)
  if (error === undefined) return yield * response.add(chunk)
  const { message, code = null } = isJsonObject(error) ? error : {}
  yield response.fail(typeof message === 'string' ? message : 'The model\'s answer was cut short', code)
}
