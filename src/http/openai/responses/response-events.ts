import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { begun, callItem, finished, headOf, messageItem, newId, refusalPart, type ResponseHead, textPart, usageOf } from './responses-object.ts'

/** A message of the response that the model is still writing. */
interface OpenMessage { readonly id: string, readonly place: number, readonly parts: JsonObject[], kind: 'text' | 'refusal', text: string }

/**
 * A function call of the response that the model is still writing. All calls stay open until the response ends, because the model may write
 * a piece of one call, then a piece of another.
 */
interface OpenCall { readonly id: string, readonly place: number, readonly index: Json | undefined, readonly callId: Json, name: Json, arguments: string }

/**
 * Translates the chunks of a chat completion into the events of a streamed response of OpenAI's Responses API. Each method gives the events
 * to send now.
 */
export class ResponseEvents {
  readonly #body: JsonObject
  readonly #output: JsonObject[] = []
  readonly #calls: OpenCall[] = []
  #head: ResponseHead | undefined
  #message: OpenMessage | undefined
  #sequence = 0
  #reason: Json | undefined
  #usage: Json | undefined

  /** Begins the events of one response. @param body the request, parts of which a response repeats */
  constructor (body: JsonObject) {
    this.#body = body
  }

  * add (chunk: JsonObject): Generator<Buffer, void> {
    yield * this.#begin(chunk)
    const { choices, usage = null } = chunk
    if (usage !== null) this.#usage = usage
    const choice: Json = Array.isArray(choices) ? (choices as readonly Json[])[0] ?? null : null
    if (!isJsonObject(choice)) return
    this.#reason = choice['finish_reason'] ?? this.#reason
    const { content, refusal, tool_calls: calls } = isJsonObject(choice['delta']) ? choice['delta'] : {}
    if (typeof content === 'string' && content !== '') yield * this.#write('text', content)
    if (typeof refusal === 'string' && refusal !== '') yield * this.#write('refusal', refusal)
    if (Array.isArray(calls)) for (const call of (calls as readonly Json[]).filter(isJsonObject)) yield * this.#call(call)
  }

  /** Gives the events that end a response which the model has finished. */
  * end (): Generator<Buffer, void> {
    const head = yield * this.#begin({})
    yield * this.#closeMessage()
    for (const call of this.#calls) {
      const place = { item_id: call.id, output_index: call.place }
      yield this.#event('response.function_call_arguments.done', { ...place, name: call.name, arguments: call.arguments })
      yield * this.#done(call.place, callItem(call, 'completed'))
    }
    const response = finished(head, this.#reason, this.#output, usageOf(this.#usage))
    yield this.#event(`response.${String(response['status'])}`, { response })
  }

  /** The event that ends a failed response. OpenAI's clients raise it as an error. */
  fail (message: string, code: Json): Buffer {
    return this.#event('error', { code, message, param: null, error: { type: 'upstream_error', code, message, param: null } })
  }

  * #begin (chunk: JsonObject): Generator<Buffer, ResponseHead> {
    if (this.#head !== undefined) return this.#head
    const head = this.#head = headOf(chunk, this.#body)
    for (const type of ['response.created', 'response.in_progress']) yield this.#event(type, { response: begun(head) })
    return head
  }

  * #write (kind: 'text' | 'refusal', piece: string): Generator<Buffer, void> {
    if (this.#message !== undefined && this.#message.kind !== kind) yield * this.#closePart(this.#message)
    if (this.#message === undefined) {
      const message = { id: newId('msg'), place: this.#output.length, parts: [], kind, text: '' }
      const item = messageItem(message.id, [], 'in_progress')
      this.#output.push(item)
      this.#message = message
      yield this.#event('response.output_item.added', { output_index: message.place, item })
    }
    const message = this.#message
    if (message.text === '') {
      message.kind = kind
      yield this.#event('response.content_part.added', { ...placeOf(message), part: partOf(kind, '') })
    }
    message.text += piece
    const added = { ...placeOf(message), delta: piece }
    yield kind === 'text'
      ? this.#event('response.output_text.delta', { ...added, logprobs: [] })
      : this.#event('response.refusal.delta', added)
  }

  /** Adds a piece of a function call. A piece without an index belongs to the last call; a piece with a new id begins another call. */
  * #call ({ index, id, function: given }: JsonObject): Generator<Buffer, void> {
    const { name = '', arguments: text } = isJsonObject(given) ? given : {}
    const latest = index === undefined ? this.#calls.at(-1) : this.#calls.findLast(call => call.index === index)
    const begins = latest === undefined || (typeof id === 'string' && id !== '' && id !== latest.callId)
    const call: OpenCall = begins ? { id: newId('fc'), place: 0, index, callId: id ?? newId('call'), name, arguments: '' } : latest
    if (begins) {
      yield * this.#closeMessage()
      yield * this.#open(call)
    }
    if (typeof text !== 'string' || text === '') return
    const open = this.#calls.findLast(({ id: known }) => known === call.id) ?? call
    open.arguments += text
    yield this.#event('response.function_call_arguments.delta', { item_id: open.id, output_index: open.place, delta: text })
  }

  * #open (call: OpenCall): Generator<Buffer, void> {
    const placed = { ...call, place: this.#output.length }
    const item = callItem(placed, 'in_progress')
    this.#calls.push(placed)
    this.#output.push(item)
    yield this.#event('response.output_item.added', { output_index: placed.place, item })
  }

  * #closePart (message: OpenMessage): Generator<Buffer, void> {
    const { kind, text } = message
    const part = partOf(kind, text)
    const place = placeOf(message)
    yield kind === 'text'
      ? this.#event('response.output_text.done', { ...place, text, logprobs: [] })
      : this.#event('response.refusal.done', { ...place, refusal: text })
    yield this.#event('response.content_part.done', { ...place, part })
    message.parts.push(part)
    message.text = ''
  }

  * #closeMessage (): Generator<Buffer, void> {
    const message = this.#message
    if (message === undefined) return
    this.#message = undefined
    yield * this.#closePart(message)
    yield * this.#done(message.place, messageItem(message.id, message.parts, 'completed'))
  }

  * #done (place: number, item: JsonObject): Generator<Buffer, void> {
    this.#output[place] = item
    yield this.#event('response.output_item.done', { output_index: place, item })
  }

  #event (type: string, data: JsonObject): Buffer {
    return Buffer.from(`event: ${type}\ndata: ${stringifyJson({ type, sequence_number: this.#sequence++, ...data })}\n\n`)
  }
}

function placeOf ({ id, place, parts }: OpenMessage): JsonObject {
  return { item_id: id, output_index: place, content_index: parts.length }
}

function partOf (kind: 'text' | 'refusal', text: string): JsonObject {
  return kind === 'text' ? textPart(text) : refusalPart(text)
}
