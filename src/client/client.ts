import { readEvents } from './events.ts'

/** What a prompt takes and gives, as `aps types` writes it. */
export interface PromptTypes {
  readonly variables: unknown
  readonly returns: unknown
}

/** Prompts of which nothing is known. */
export interface AnyPrompts {
  readonly [id: string]: { readonly variables: Readonly<Record<string, unknown>>, readonly returns: unknown }
}

export interface ClientOptions {
  /** Where the service is, such as `http://127.0.0.1:8080`; a path in front of its own may follow. */
  readonly url: string
  /** Sent as a bearer token. */
  readonly token?: string | undefined
  /** In place of the platform's own. */
  readonly fetch?: typeof fetch | undefined
}

/** Which release of a prompt is wanted. */
export interface ReleaseChoice {
  /** The version that a label means, such as `production`. */
  readonly label?: string | undefined
  readonly version?: number | undefined
  /** The same key always gets the same of several versions of a label. */
  readonly key?: string | undefined
  /** Fails with `PROMPT_REVISION` when the prompt is at another one. */
  readonly revision?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** A message of a conversation. */
export interface ChatMessage {
  readonly role: string
  /** A text, or parts. */
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
  /** What was said so far: it goes where the prompt has `history`, else behind its own messages. */
  readonly messages?: readonly ChatMessage[] | undefined
}

export interface ChatOptions extends RenderOptions {
  readonly model?: string | undefined
  /** Further fields of the request to the model, such as `temperature`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
}

/** Which release of a prompt a result is of: what the headers `x-prompt-…` say. */
export interface Release {
  readonly revision: string | undefined
  /** `undefined` for content that is no version. */
  readonly version: number | undefined
  readonly label: string | undefined
}

/** A rendered prompt. */
export interface Rendered {
  /** A text for a prompt with one text, else messages. */
  readonly prompt: string | readonly ChatMessage[]
  readonly release: Release
}

/** What an answer is as JSON: of a prompt that answers as it likes, nobody knows. */
type ValueOf<Returns> = string extends Returns ? unknown : Returns

/** An answer while it is written: its pieces of text, to be read once. */
export interface ChatAnswer<Returns> extends AsyncIterable<string> {
  readonly release: Release
  /** The whole text; reads what is left. */
  text (): Promise<string>
  /** The answer of a prompt with `structured: true`, read as JSON. @throws SyntaxError for what is none */
  value (): Promise<ValueOf<Returns>>
}

/** What may be left out where nothing is required. */
type Arguments<Variables, Options> = Record<never, never> extends Variables ? [variables?: Variables, options?: Options] : [variables: Variables, options?: Options]

/** A service's prompts as typed calls. They throw `PromptShellError` for what the service refuses, and what `fetch` throws. */
export interface Client<Prompts> {
  render<Id extends keyof Prompts & string> (id: Id, ...rest: Arguments<VariablesOf<Prompts[Id]>, RenderOptions>): Promise<Rendered>
  chat<Id extends keyof Prompts & string> (id: Id, ...rest: Arguments<VariablesOf<Prompts[Id]>, ChatOptions>): Promise<ChatAnswer<ReturnsOf<Prompts[Id]>>>
}

type VariablesOf<Prompt> = Prompt extends { readonly variables: infer Variables } ? Variables : never
type ReturnsOf<Prompt> = Prompt extends { readonly returns: infer Returns } ? Returns : never

/** What the service says is wrong; `docs/errors.md` has the codes. */
export class PromptShellError extends Error {
  override readonly name = 'PromptShellError'
  /** Of the reply; 200 for an answer that was cut after it had begun. */
  readonly status: number
  readonly code: string | undefined
  /** The log of the service has the request under this id. */
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
 * A client of one service. It keeps nothing: each call gets what is served then.
 * @throws TypeError for an address that is none
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
      const response = await post('render', id, { variables, ...(messages === undefined ? {} : { messages }) }, options)
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
  const pieces = readPieces(response)
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
    [Symbol.asyncIterator]: read,
    text,
    value: async () => JSON.parse(await text()) as ValueOf<Returns>
  }
}

/** The pieces of text of a streamed completion. @throws PromptShellError for one that was cut */
async function * readPieces (response: Response): AsyncGenerator<string, void> {
  const about = { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined }
  if (response.body === null) throw new PromptShellError('The answer has no body', about)
  for await (const data of readEvents(response.body)) {
    if (data.trim() === '[DONE]') return
    const { choices = [], error } = JSON.parse(data) as { readonly choices?: ReadonlyArray<{ readonly delta?: { readonly content?: string | null } }>, readonly error?: { readonly message?: string, readonly code?: string } | null }
    if (error !== undefined && error !== null) throw new PromptShellError(error.message ?? 'The answer was cut', { ...about, code: error.code })
    const piece = choices[0]?.delta?.content
    if (typeof piece === 'string' && piece !== '') yield piece
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

/** The service's error, or that of a model's API, which it passes on. */
async function errorOf (response: Response): Promise<PromptShellError> {
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? undefined
  const text = await response.text()
  const body = (isJson(text) ? JSON.parse(text) : undefined) as { readonly message?: unknown, readonly code?: unknown, readonly details?: unknown, readonly error?: unknown } | null | undefined
  const error = (typeof body?.error === 'object' && body.error !== null ? body.error : body ?? {}) as { readonly message?: unknown, readonly code?: unknown }
  const message = typeof error.message === 'string' ? error.message : `The service has answered ${status}`
  return new PromptShellError(message, { status, code: typeof error.code === 'string' ? error.code : undefined, requestId, details: body?.details })
}
