/** The largest server-sent event that is read, in UTF-16 units. */
const MAX_EVENT = 16 * 1024 * 1024

/** Yields the data of each server-sent event as soon as it arrives; when the reader stops early, the body is cancelled. */
export async function * readEvents (body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let held = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      held += decoder.decode(value, { stream: true })
      // A CR at the end may be the first half of a CR LF, so it does not end an event yet.
      const events = held.split(/\r\n\r\n|\n\n|\r\r(?!$)/)
      held = events.pop() ?? ''
      if (held.length > MAX_EVENT) throw new RangeError(`an event is larger than ${MAX_EVENT} characters`)
      yield * events.map(dataOf).filter(data => data !== undefined)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function dataOf (event: string): string | undefined {
  const lines = event.split(/\r\n|\r|\n/).filter(line => line.startsWith('data:'))
  return lines.length === 0 ? undefined : lines.map(line => line.slice(5).replace(/^ /, '')).join('\n')
}

/** The types of one prompt's variables and of its answer, as `aps types` writes them. */
export interface PromptTypes {
  readonly variables: unknown
  readonly returns: unknown
}

/** The types of prompts about which nothing is known, for a client without generated types. */
export interface AnyPrompts {
  readonly [id: string]: { readonly variables: Readonly<Record<string, unknown>>, readonly returns: unknown }
}

export interface ClientOptions {
  /** The address of the service, such as `http://127.0.0.1:8080`. It can have a path, for a service behind a proxy. */
  readonly url: string
  /** The token that each request carries as a bearer token. */
  readonly token?: string | undefined
  /** The function to use in place of the platform's own `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** Chooses the version of a prompt that a call gets. @default the version that the service gives to this caller */
export interface ReleaseChoice {
  /** A label, such as `production`: the call gets the version to which it points now. */
  readonly label?: string | undefined
  readonly version?: number | undefined
  /** Such as a user's id: the same key always gets the same version where a label is divided among several. */
  readonly key?: string | undefined
  /** The hash that the prompt's content must have; with another one the call fails with `PROMPT_REVISION`. */
  readonly revision?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** A message of a conversation with a model. */
export interface ChatMessage {
  readonly role: string
  readonly content?: string | readonly MessagePart[] | null
  readonly [field: string]: unknown
}

/** A part of a message, in the form of OpenAI's chat completions. */
export type MessagePart =
  | { readonly type: 'text', readonly text: string }
  | { readonly type: 'image_url', readonly image_url: { readonly url: string, readonly detail?: string } }
  | { readonly type: 'input_audio', readonly input_audio: { readonly data: string, readonly format: string } }
  | { readonly type: 'file', readonly file: { readonly file_data?: string, readonly file_id?: string, readonly filename?: string } }

export interface RenderOptions extends ReleaseChoice {
  /** The conversation so far; takes the place of `placeholder: history`, else comes after the prompt's own messages. */
  readonly messages?: readonly ChatMessage[] | undefined
}

export interface ChatOptions extends RenderOptions {
  readonly model?: string | undefined
  /** Further fields of the request to the model, such as `temperature`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
}

/** Which version of a prompt a result comes from, as the reply's headers `x-prompt-…` say. */
export interface Release {
  readonly revision: string | undefined
  /** `undefined` when the service has not recorded the prompt's content as a version. */
  readonly version: number | undefined
  readonly label: string | undefined
}

export interface Rendered {
  /** The rendered text, if the prompt is a single text, else the messages. */
  readonly prompt: string | readonly ChatMessage[]
  readonly release: Release
}

/** `unknown` for a prompt that declares no schema for its answers. */
type ValueOf<Returns> = string extends Returns ? unknown : Returns

/** The answer of a model while it is being written: its pieces of text, which can be read only once. */
export interface ChatAnswer<Returns> extends AsyncIterable<string> {
  readonly release: Release
  /** Why the model has stopped, once the answer was read: `length` and `content_filter` mean that it was cut. */
  readonly finishReason: string | undefined
  /** The words in which the model refuses, once the answer was read; empty when it does not refuse. */
  readonly refusal: string
  /** Reads the rest of the answer. */
  text (): Promise<string>
  /**
   * Reads the rest of the answer, and parses the whole as JSON, for a prompt with `structured: true`.
   * @throws PromptShellError for an answer that was cut, or in which the model refuses; SyntaxError for one that is no JSON
   */
  value (): Promise<ValueOf<Returns>>
}

type Arguments<Variables, Options> = Record<never, never> extends Variables ? [variables?: Variables, options?: Options] : [variables: Variables, options?: Options]

/** Calls the prompts of a service, with types. A call throws `PromptShellError` when the service refuses it, and whatever `fetch` throws. */
export interface Client<Prompts> {
  render<Id extends keyof Prompts & string> (id: Id, ...rest: Arguments<VariablesOf<Prompts[Id]>, RenderOptions>): Promise<Rendered>
  chat<Id extends keyof Prompts & string> (id: Id, ...rest: Arguments<VariablesOf<Prompts[Id]>, ChatOptions>): Promise<ChatAnswer<ReturnsOf<Prompts[Id]>>>
}

type VariablesOf<Prompt> = Prompt extends { readonly variables: infer Variables } ? Variables : never
type ReturnsOf<Prompt> = Prompt extends { readonly returns: infer Returns } ? Returns : never

/** The error of a call that the service has refused, or whose answer has broken off; `docs/errors.md` lists the codes. */
export class PromptShellError extends Error {
  override readonly name = 'PromptShellError'
  /** The HTTP status of the reply; 200 for an answer that broke off after it had begun. */
  readonly status: number
  readonly code: string | undefined
  /** The id of the request in the service's log; `undefined` if the reply did not name it. */
  readonly requestId: string | undefined
  readonly details: unknown

  constructor (message: string, about: { readonly status: number, readonly code?: string | undefined, readonly requestId?: string | undefined, readonly details?: unknown }) {
    super(message)
    this.status = about.status
    this.code = about.code
    this.requestId = about.requestId
    this.details = about.details
  }
}

/**
 * Makes a client of one service. It caches nothing: each call gets what the service serves at that moment.
 * @throws TypeError if `url` is no valid address
 */
export function createClient<Prompts = AnyPrompts> ({ url, token, fetch: send = globalThis.fetch }: ClientOptions): Client<Prompts> {
  const base = new URL(url)
  const root = base.pathname.replace(/\/$/, '')

  async function post (action: string, id: string, body: unknown, choice: ReleaseChoice): Promise<Response> {
    const address = new URL(base)
    address.pathname = `${root}/api/${action}/prompts/${encodeURIComponent(id)}`
    for (const name of ['label', 'version', 'key', 'revision'] as const) if (choice[name] !== undefined) address.searchParams.set(name, String(choice[name]))
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (token !== undefined && token !== '') headers['authorization'] = `Bearer ${token}`
    const response = await send(address, { method: 'POST', headers, body: JSON.stringify(body), signal: choice.signal ?? null })
    if (!response.ok) throw await errorOf(response)
    return response
  }

  return {
    async render (id, ...[variables = {}, options = {}]) {
      const { messages } = options
      const response = await post('render', id, { variables, messages }, options)
      const { rendered_prompt: prompt } = await response.json() as { readonly rendered_prompt: string | readonly ChatMessage[] }
      return { prompt, release: releaseOf(response) }
    },
    async chat (id, ...[variables = {}, options = {}]) {
      const { model, messages, fields } = options
      const response = await post('chat', id, { ...fields, variables, ...(model === undefined ? {} : { model }), ...(messages === undefined ? {} : { messages }), stream: true }, options)
      return answerOf(response)
    }
  }
}

function answerOf<Returns> (response: Response): ChatAnswer<Returns> {
  const end: AnswerEnd = { finishReason: undefined, refusal: '' }
  const pieces = readPieces(response, end)
  let whole = ''
  async function * read (): AsyncGenerator<string, void> {
    for await (const piece of pieces) {
      whole += piece
      yield piece
    }
  }
  async function text (): Promise<string> {
    const rest = read()
    while ((await rest.next()).done !== true);
    return whole
  }
  return {
    release: releaseOf(response),
    get finishReason () { return end.finishReason },
    get refusal () { return end.refusal },
    [Symbol.asyncIterator]: read,
    text,
    async value () {
      const json = await text()
      const about = { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined }
      if (end.refusal !== '') throw new PromptShellError(`The model refuses: ${end.refusal}`, { ...about, code: 'MODEL_REFUSED' })
      if (CUT.has(end.finishReason ?? '')) throw new PromptShellError(`The answer was cut: ${String(end.finishReason)}`, { ...about, code: 'ANSWER_CUT' })
      return JSON.parse(unfenced(json)) as ValueOf<Returns>
    }
  }
}

interface AnswerEnd { finishReason: string | undefined, refusal: string }

const CUT: ReadonlySet<string> = new Set(['length', 'max_tokens', 'model_length', 'content_filter'])

/** Takes the JSON out of a fence, which models write even when told not to. */
function unfenced (text: string): string {
  return /^\s*```[^\n]*\n([^]*)\n```\s*$/.exec(text)?.[1] ?? text
}

interface Delta { readonly content?: string | ReadonlyArray<{ readonly type?: string, readonly text?: string }> | null, readonly refusal?: string | null }

interface Chunk {
  readonly choices?: ReadonlyArray<{ readonly delta?: Delta, readonly finish_reason?: string | null }> | null
  readonly error?: { readonly message?: string, readonly code?: string } | string | boolean | null
}

/** Yields the pieces of text of a streamed chat completion. @throws PromptShellError for an answer that broke off, or that reports an error */
async function * readPieces (response: Response, end: AnswerEnd): AsyncGenerator<string, void> {
  const about = { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined }
  if (response.body === null) throw new PromptShellError('The answer has no body', about)
  for await (const data of readEvents(response.body)) {
    if (data.trim() === '[DONE]') return
    const { choices, error } = JSON.parse(data) as Chunk
    if (typeof error === 'object' && error !== null) throw new PromptShellError(error.message ?? 'The answer was cut', { ...about, code: error.code })
    const { delta = {}, finish_reason: reason } = choices?.[0] ?? {}
    const { content = '', refusal } = delta
    if (typeof reason === 'string' && reason !== '' && reason !== 'null') end.finishReason = reason
    if (typeof refusal === 'string') end.refusal += refusal
    const piece = typeof content === 'string' ? content : (content ?? []).map(part => part.type === 'text' ? part.text ?? '' : '').join('')
    if (piece !== '') yield piece
  }
  throw new PromptShellError('The answer was cut: the connection was closed', about)
}

function isJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function releaseOf ({ headers }: Response): Release {
  const version = headers.get('x-prompt-version')
  return { revision: headers.get('x-prompt-revision') ?? undefined, version: version === null ? undefined : Number(version), label: headers.get('x-prompt-label') ?? undefined }
}

/** Makes the error of a refused call, from the service's own error or that of a model's API, which the service passes on. */
async function errorOf (response: Response): Promise<PromptShellError> {
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? undefined
  const text = await response.text()
  const body = (isJson(text) ? JSON.parse(text) : undefined) as { readonly message?: unknown, readonly code?: unknown, readonly details?: unknown, readonly error?: unknown } | null | undefined
  const error = (typeof body?.error === 'object' && body.error !== null ? body.error : body ?? {}) as { readonly message?: unknown, readonly code?: unknown }
  const message = typeof error.message === 'string' ? error.message : `The service has answered ${status}`
  return new PromptShellError(message, { status, code: typeof error.code === 'string' ? error.code : undefined, requestId, details: body?.details })
}
