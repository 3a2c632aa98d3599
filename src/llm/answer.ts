import { isJsonObject, type Json, type JsonObject, listOf, type MutableObject, objectOf, setMember, stringifyJson } from '../base/json.ts'
import type { Redact } from '../base/redact.ts'
import { codeOf, isRetryableStatus, UpstreamError } from './upstream-error.ts'

/** In characters. */
const MAX_MESSAGE = 500

const LASTING = /quota|invalid|not_found|unsupported|auth|permission|content_|context_/i

/** Some APIs report errors with status 200. Without a number or a known word, another attempt is made: most such errors pass. */
export function reportedError (error: Json, redact: Redact): UpstreamError {
  const { message, code, status } = isJsonObject(error) ? error : { message: error, code: undefined, status: undefined }
  const number = Number(status ?? code)
  const upstream = codeOf(error)
  const quote = typeof message === 'string' ? { quote: redact(message).slice(0, MAX_MESSAGE) } : {}
  return new UpstreamError('the upstream reported an error', {
    ...quote,
    retryable: number > 0 ? isRetryableStatus(number) : !LASTING.test(`${upstream?.code ?? ''} ${upstream?.type ?? ''}`),
    status: number > 0 && Number.isInteger(number) ? number : undefined,
    upstream
  })
}

// Reads what models answer, however a stream was cut. Servers bend OpenAI's format, so every known form is taken, and none is lost in silence.

export interface Answer {
  /** Without thoughts, in well-formed UTF-16; empty when it says nothing. */
  readonly text: string
  readonly thoughts: string
  /** In order, with distinct ids; names and arguments can be wrong. */
  readonly calls: readonly AskedCall[]
  readonly refusal: string
  readonly finishReason: string | undefined
  /** Ended by a limit or a filter: nothing of such an answer is carried out. */
  readonly cut: boolean
  /** What some APIs want back beside the calls that followed from the thoughts. */
  readonly reasoning: JsonObject
  readonly usage: JsonObject | undefined
  /** Logged by an earlier version: the text is read as that version did, since what followed is in the log as well. */
  readonly isEarlier?: true
}

export interface AskedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** Asked by the older `function_call`: the result goes back with the role `function`. */
  readonly isOlder?: true
  /** Such as a signature of the thoughts before it, which some APIs want back. */
  readonly extra?: JsonObject
}

export interface OpenCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

interface Added {
  readonly text: string
  readonly refusal: string
  readonly hasCall: boolean
}

/** In UTF-16 units. */
const MAX_LENGTH = 8 * 1024 * 1024

/** A bound, since each piece is compared with those before it. */
const MAX_CALLS = 1000

export const NO_WORDS: Answer = { text: '', thoughts: '', calls: [], refusal: '', finishReason: undefined, cut: false, reasoning: {}, usage: undefined }

const NOTHING_ADDED: Added = { text: '', refusal: '', hasCall: false }

/** The first two say the same where both are there; the third is a list. */
const REASONING = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details'] as const

export class AnswerReader {
  readonly #isOffered: (name: string) => boolean
  readonly #choices = new Map<Json, ChoiceReader>()
  #usage: JsonObject | undefined
  #length = 0

  /** Only the names of the request's functions tell whether a name came whole or in pieces. */
  constructor (request: JsonObject = {}) {
    const names = offeredNames(request)
    this.#isOffered = name => names.has(name)
  }

  /** @throws UpstreamError when the answer becomes too large to be held in memory */
  add (chunk: JsonObject): Added {
    const { choices, usage } = chunk
    if (isJsonObject(usage)) this.#usage = usage
    if (!Array.isArray(choices)) return NOTHING_ADDED
    let first = NOTHING_ADDED
    for (const choice of choices as readonly Json[]) {
      if (!isJsonObject(choice)) continue
      const { index = 0 } = choice
      let reader = this.#choices.get(index)
      if (reader === undefined) this.#choices.set(index, reader = new ChoiceReader())
      const before = reader.length
      const added = reader.add(choice)
      this.#length += reader.length - before
      // A whole reply is in memory already.
      if (this.#length > MAX_LENGTH && choice['message'] === undefined) throw tooLarge()
      if (index === 0 || this.#choices.size === 1) first = added
    }
    return first
  }

  answer (): Answer {
    return this.answers()[0] ?? { ...NO_WORDS, usage: this.#usage }
  }

  answers (): Answer[] {
    return Array.from(this.#choices.values(), choice => ({ ...choice.answer(this.#isOffered), usage: this.#usage }))
  }

  openCalls (): readonly OpenCall[] {
    const [first] = this.#choices.values()
    return first?.calls.map(call => ({ id: call.id, name: nameOf(call, this.#isOffered), arguments: call.arguments })) ?? []
  }
}

function tooLarge (): UpstreamError {
  return new UpstreamError(`the answer is larger than ${MAX_LENGTH} characters`, { retryable: false })
}

interface CallInPieces {
  readonly index: Json | undefined
  id: string
  readonly names: string[]
  arguments: string
  readonly isOlder?: true
  readonly extra: MutableObject
}

class ChoiceReader {
  readonly calls: CallInPieces[] = []
  /** In UTF-16 units. */
  length = 0
  readonly #content = new ThoughtSplitter()
  readonly #reasoning: MutableObject = {}
  #thoughts = ''
  #refusal = ''
  #finishReason: string | undefined

  add (choice: JsonObject): Added {
    // An API may send a further reason at the end, so the one that says "cut" stays.
    if (!isCut(this.#finishReason)) this.#finishReason = finishOf(choice) ?? this.#finishReason
    const isWhole = isJsonObject(choice['message'])
    const message = isWhole ? choice['message'] : choice['delta']
    if (!isJsonObject(message)) return NOTHING_ADDED
    const { content, refusal, tool_calls: calls, function_call: older } = message
    const said = partsOf(content ?? null)
    this.#think(message)
    this.#thoughts += said.thoughts
    const refused = (typeof refusal === 'string' ? refusal : '') + said.refusal
    this.#refusal += refused
    this.length += said.text.length + said.thoughts.length + refused.length
    const pieces = listOf(calls).filter(isJsonObject)
    // Calls that stand together in one list are different ones.
    const together = new Set<CallInPieces>()
    for (const piece of pieces) {
      const before = isWhole ? [] : together.size === 0 ? this.calls : this.calls.filter(call => !together.has(call))
      together.add(this.#call(piece, before))
      if (!isWhole && this.calls.length > MAX_CALLS) throw new UpstreamError(`the answer has more than ${MAX_CALLS} calls`, { retryable: false })
    }
    if (pieces.length === 0 && isJsonObject(older)) this.#older(older)
    return { text: this.#content.add(said.text), refusal: refused, hasCall: pieces.length > 0 || isJsonObject(older) }
  }

  answer (isOffered: (name: string) => boolean): Omit<Answer, 'usage'> {
    const { text, thoughts } = this.#content.read()
    return {
      text: text.toWellFormed(),
      thoughts: (this.#thoughts + thoughts).toWellFormed(),
      calls: finishCalls(this.calls, isOffered),
      refusal: this.#refusal.toWellFormed(),
      finishReason: this.#finishReason,
      cut: isCut(this.#finishReason),
      reasoning: this.#reasoning
    }
  }

  #think (message: JsonObject): void {
    const told = REASONING.map(name => message[name]).find(each => typeof each === 'string' && each !== '')
    if (typeof told === 'string') this.#thoughts += told
    for (const name of REASONING) {
      const piece = Object.hasOwn(message, name) ? message[name] ?? null : null
      if (piece === null || piece === '' || typeof piece === 'boolean') continue
      this.length += typeof piece === 'string' ? piece.length : stringifyJson(piece).length
      const known = Object.hasOwn(this.#reasoning, name) ? this.#reasoning[name] as Json : null
      if (typeof known === 'string' && typeof piece === 'string') this.#reasoning[name] = known + piece
      // Grows in place, since the list belongs to this answer alone: a copy per piece would take quadratic time.
      else if (Array.isArray(known) && Array.isArray(piece)) for (const each of piece as readonly Json[]) known.push(each)
      else this.#reasoning[name] = Array.isArray(piece) ? [...piece as readonly Json[]] : piece
    }
  }

  #call (piece: JsonObject, before: readonly CallInPieces[]): CallInPieces {
    const { index, id, type: _type, function: called, ...extra } = piece
    const { name, arguments: given } = objectOf(called)
    const known = findCall(before, piece)
    const call = known ?? { index, id: '', names: [], arguments: '', extra: {} }
    if (known === undefined) this.calls.push(call)
    if (call.id === '' && typeof id === 'string') call.id = id
    for (const [member, value] of Object.entries(extra)) setMember(call.extra, member, value)
    this.#grow(call, name, given)
    return call
  }

  #older (piece: JsonObject): void {
    const call = this.calls[0] ?? { index: undefined, id: '', names: [], arguments: '', isOlder: true, extra: {} }
    if (this.calls.length === 0) this.calls.push(call)
    this.#grow(call, piece['name'], piece['arguments'])
  }

  #grow (call: CallInPieces, name: Json | undefined, given: Json | undefined): void {
    if (typeof name === 'string' && name !== '') call.names.push(name)
    // Some servers send the arguments as the object itself. It comes as a whole, perhaps repeated.
    if (typeof given === 'string') call.arguments += given
    else if (given !== undefined && given !== null) call.arguments = stringifyJson(given)
    this.length += (typeof name === 'string' ? name.length : 0) + (typeof given === 'string' ? given.length : call.arguments.length)
  }
}

/** Some servers leave out `index`, give 0 to all, or a new id to each piece: a new id begins a call only after a complete one. */
function findCall (calls: readonly CallInPieces[], piece: JsonObject): CallInPieces | undefined {
  const { index, function: called } = piece
  const { name = '', arguments: given = '' } = objectOf(called)
  const id = typeof piece['id'] === 'string' ? piece['id'] : ''
  const byId = id === '' ? undefined : calls.findLast(call => call.id === id)
  const latest = index === undefined ? byId ?? calls.at(-1) : calls.findLast(call => call.index === index)
  if (latest === undefined || (id !== '' && latest.id === id) || name === '' || latest.names.length === 0) return latest
  if (!isJsonText(latest.arguments)) return latest
  if (index === undefined || (id !== '' && latest.id !== '')) return undefined
  // The same index and no ids: only a second set of arguments is another call.
  return latest.id === '' && given !== '' && latest.arguments.trim() !== '' ? undefined : latest
}

function isJsonText (text: string): boolean {
  if (text.trim() === '') return true
  // Most incomplete texts end in something else, so few are parsed.
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Gives every call its name, and an id that no other call of the answer has. Calls of which nothing has come are left out. */
function finishCalls (calls: readonly CallInPieces[], isOffered: (name: string) => boolean): AskedCall[] {
  const given = calls.filter(({ id, names, arguments: text }) => id !== '' || names.length > 0 || text.trim() !== '')
  const ids = distinctIds(given.map(({ id }) => id.toWellFormed()), new Set())
  return given.map((call, at) => ({
    id: ids[at] as string,
    name: nameOf(call, isOffered).toWellFormed(),
    arguments: call.arguments.toWellFormed(),
    ...(call.isOlder === true ? { isOlder: true } : {}),
    ...(Object.keys(call.extra).length === 0 ? {} : { extra: call.extra })
  }))
}

export function distinctIds (ids: readonly string[], taken: Set<string>): string[] {
  const all = new Set([...taken, ...ids])
  let made = 0
  return ids.map(id => {
    let own = id
    if (own === '' || taken.has(own)) do own = `call_${++made}`; while (all.has(own))
    all.add(own)
    taken.add(own)
    return own
  })
}

/** Most servers send it once, some in every piece, some in pieces: then only the whole is an offered function. */
function nameOf ({ names }: CallInPieces, isOffered: (name: string) => boolean): string {
  const [first = ''] = names
  if (names.length < 2 || isOffered(first)) return first
  const joined = names.join('')
  return isOffered(joined) ? joined : names.find(isOffered) ?? first
}

function offeredNames ({ tools, functions }: JsonObject): ReadonlySet<Json> {
  const ofTools = Array.isArray(tools) ? tools.map((tool: Json) => isJsonObject(tool) ? tool['function'] ?? tool : null) : []
  const declared = [...ofTools, ...Array.isArray(functions) ? functions : []]
  return new Set(declared.flatMap(each => isJsonObject(each) && typeof each['name'] === 'string' ? [each['name']] : []))
}

function partsOf (content: Json): { readonly text: string, readonly thoughts: string, readonly refusal: string } {
  if (typeof content === 'string') return { text: content, thoughts: '', refusal: '' }
  let [text, thoughts, refusal] = ['', '', '']
  for (const part of listOf(content)) {
    if (typeof part === 'string') text += part
    if (!isJsonObject(part)) continue
    const { type, text: said, thinking, refusal: refused } = part
    const isThought = typeof type === 'string' && /^(?:thinking|reasoning|thought)/.test(type)
    if (isThought) thoughts += textOf(thinking ?? said ?? null)
    else if (type === 'refusal') refusal += textOf(refused ?? null)
    else text += textOf(said ?? null)
  }
  return { text, thoughts, refusal }
}

function textOf (value: Json): string {
  return typeof value === 'string' ? value : partsOf(value).text
}

const OPENINGS = ['<think>', '<thinking>', '<thought>', '<reasoning>']

/** Its opening stood in the model's own template, and so is not in the answer. */
const LONE_CLOSING = '\n</think>'

/** The most blanks in front of thoughts, in UTF-16 units. */
const MAX_BLANKS = 100

export function withoutThoughts (text: string): string {
  const splitter = new ThoughtSplitter()
  splitter.add(text)
  return splitter.read().text
}

/** Cuts a text that comes in pieces into the thoughts in front of an answer, and the answer. */
class ThoughtSplitter {
  #text = ''
  #thoughts = ''
  #state: 'start' | 'thoughts' | 'text' = 'start'
  #held = ''
  #closing = ''
  #hasThoughts = false
  #tail = '\n'

  /** @returns the part of the answer that can be shown at once */
  add (piece: string): string {
    if (piece === '') return ''
    this.#held += piece
    let shown = ''
    for (;;) {
      if (this.#state === 'start' && !this.#begin()) return shown
      if (this.#state === 'thoughts' && !this.#endThoughts()) return shown
      if (this.#state !== 'text') continue
      const said = this.#say()
      shown += said
      if (this.#state === 'text') return shown
    }
  }

  read (): { readonly text: string, readonly thoughts: string } {
    const isThinking = this.#state === 'thoughts'
    return { text: isThinking ? this.#text : this.#text + this.#held, thoughts: isThinking ? this.#thoughts + this.#held : this.#thoughts }
  }

  #begin (): boolean {
    const body = this.#held.trimStart()
    if (this.#hasThoughts) this.#held = body
    const start = body.slice(0, 20)
    const opening = this.#held.length - body.length > MAX_BLANKS ? undefined : OPENINGS.find(each => start.startsWith(each))
    if (opening !== undefined) {
      this.#closing = `</${opening.slice(1)}`
      this.#held = body.slice(opening.length)
      if (this.#thoughts !== '') this.#thoughts += '\n'
      this.#hasThoughts = true
      this.#state = 'thoughts'
      return true
    }
    if (this.#held.length - body.length <= MAX_BLANKS && OPENINGS.some(each => each.startsWith(start))) return false
    this.#state = 'text'
    return true
  }

  #endThoughts (): boolean {
    const end = this.#held.indexOf(this.#closing)
    const upTo = end < 0 ? Math.max(0, this.#held.length - this.#closing.length + 1) : end
    this.#thoughts += this.#held.slice(0, upTo)
    this.#held = this.#held.slice(end < 0 ? upTo : end + this.#closing.length)
    if (end >= 0) this.#state = 'start'
    return end >= 0
  }

  #say (): string {
    const last = this.#held.charCodeAt(this.#held.length - 1)
    const end = last >= 0xD800 && last <= 0xDBFF ? this.#held.length - 1 : this.#held.length
    const said = this.#held.slice(0, end).toWellFormed()
    const window = this.#tail + said
    const lone = this.#hasThoughts ? -1 : window.indexOf(LONE_CLOSING)
    if (lone >= 0) {
      const before = lone + 1 - this.#tail.length
      this.#thoughts = before >= 0 ? this.#text + said.slice(0, before) : this.#text.slice(0, before)
      this.#held = window.slice(lone + LONE_CLOSING.length) + this.#held.slice(end)
      this.#text = ''
      this.#hasThoughts = true
      this.#state = 'start'
      return ''
    }
    this.#text += said
    this.#held = this.#held.slice(end)
    this.#tail = window.slice(1 - LONE_CLOSING.length)
    return said
  }
}

const CUT: ReadonlySet<string> = new Set(['length', 'max_tokens', 'max_output_tokens', 'model_length', 'content_filter'])

export function isCut (finishReason: string | undefined): boolean {
  return finishReason !== undefined && CUT.has(finishReason.toLowerCase())
}

/** Some servers write an empty text, or the word "null", while a choice goes on. */
export function finishOf ({ finish_reason: reason }: JsonObject): string | undefined {
  return typeof reason === 'string' && reason !== '' && reason !== 'null' ? reason : undefined
}

/** Some servers send an empty member `error` with every chunk. */
export function errorIn (value: JsonObject): Json | undefined {
  const { error = null } = value
  if (error === null || error === false || error === '' || error === 0) return undefined
  return typeof error === 'object' && Object.keys(error).length === 0 ? undefined : error
}

export function failedChoice ({ choices }: JsonObject): Json | undefined {
  if (!Array.isArray(choices)) return undefined
  const failed = (choices as readonly Json[]).find(choice => isJsonObject(choice) && (finishOf(choice) === 'error' || errorIn(choice) !== undefined))
  return isJsonObject(failed) ? errorIn(failed) ?? 'the answer ended in an error' : undefined
}
