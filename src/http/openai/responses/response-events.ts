import { type Json, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { AnswerReader, type OpenCall as OpenedCall } from '../../../llm/answer.ts'
import { begun, callItem, finished, headOf, messageItem, newId, refusalPart, type ResponseHead, textPart, usageOf } from './responses-object.ts'

/** A message of the response that the model is still writing. */
interface OpenMessage { readonly id: string, readonly place: number, readonly parts: JsonObject[], kind: 'text' | 'refusal', text: string }

/**
 * A function call of the response that the model is still writing. All calls stay open until the response ends, because the model may write
 * a piece of one call, then a piece of another.
 */
interface OpenCall { readonly id: string, readonly place: number, readonly callId: string, written: number }

/**
 * Translates the chunks of a chat completion into the events of a streamed response of OpenAI's Responses API. Each method gives the events
 * to send now.
 */
export class ResponseEvents {
  readonly #body: JsonObject
  readonly #output: JsonObject[] = []
  readonly #calls: OpenCall[] = []
  readonly #reader: AnswerReader
  #head: ResponseHead | undefined
  #message: OpenMessage | undefined
  #sequence = 0
  /** The text that was told so far. */
  #said = ''

  /** Begins the events of one response. @param body the request, parts of which a response repeats */
  constructor (body: JsonObject) {
    this.#body = body
    this.#reader = new AnswerReader(body)
  }

  * add (chunk: JsonObject): Generator<Buffer, void> {
    yield * this.#begin(chunk)
    const { text, refusal, hasCall } = this.#reader.add(chunk)
    if (text !== '') yield * this.#write('text', text)
    if (refusal !== '') yield * this.#write('refusal', refusal)
    if (hasCall) yield * this.#writeCalls(this.#reader.openCalls())
  }

  /** Gives the events that end a response which the model has finished. */
  * end (): Generator<Buffer, void> {
    const head = yield * this.#begin({})
    const { text, calls, cut, finishReason, usage } = this.#reader.answer()
    // The reader holds back what may be the beginning of thoughts.
    if (text.startsWith(this.#said) && text !== this.#said) yield * this.#write('text', text.slice(this.#said.length))
    const status = cut ? 'incomplete' : 'completed'
    yield * this.#closeMessage(status)
    yield * this.#writeCalls(calls, true)
    for (const [index, { name, arguments: given }] of calls.entries()) {
      const { id, place, callId } = this.#calls[index] as OpenCall
      yield this.#event('response.function_call_arguments.done', { item_id: id, output_index: place, name, arguments: given })
      yield * this.#done(place, callItem({ id, callId, name, arguments: given }, status))
    }
    const response = finished(head, finishReason, this.#output, usageOf(usage))
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
    if (kind === 'text') this.#said += piece
    const added = { ...placeOf(message), delta: piece }
    yield kind === 'text'
      ? this.#event('response.output_text.delta', { ...added, logprobs: [] })
      : this.#event('response.refusal.delta', added)
  }

  /** Opens the items of calls whose names are known, and tells the pieces of their arguments that are new. */
  * #writeCalls (calls: readonly OpenedCall[], isOver = false): Generator<Buffer, void> {
    for (const [index, { id, name, arguments: given }] of calls.entries()) {
      let open = this.#calls[index]
      if (open === undefined) {
        // Items are opened in the order of the calls, so those behind a call without a name wait for it.
        if (name === '' && !isOver) return
        yield * this.#closeMessage()
        const isTaken = id === '' || this.#calls.some(({ callId }) => callId === id)
        open = { id: newId('fc'), place: this.#output.length, callId: isTaken ? newId('call') : id, written: 0 }
        const item = callItem({ ...open, name, arguments: '' }, 'in_progress')
        this.#calls.push(open)
        this.#output.push(item)
        yield this.#event('response.output_item.added', { output_index: open.place, item })
      }
      const delta = given.slice(open.written)
      if (delta === '') continue
      open.written = given.length
      yield this.#event('response.function_call_arguments.delta', { item_id: open.id, output_index: open.place, delta })
    }
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

  * #closeMessage (status = 'completed'): Generator<Buffer, void> {
    const message = this.#message
    if (message === undefined) return
    this.#message = undefined
    yield * this.#closePart(message)
    yield * this.#done(message.place, messageItem(message.id, message.parts, status))
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
