import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A message of a request, as chat completions have it. */
export interface ModelMessage {
  readonly role: string
  readonly content?: string | null | ReadonlyArray<{ readonly type: string, readonly text?: string }>
}

/** A request for a chat completion: what a script looks at. */
export interface ModelRequest {
  readonly messages: readonly ModelMessage[]
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>
  readonly response_format?: object
  readonly stream?: boolean
}

/** What the model does with one request. `breaks` closes the connection before an answer. */
export type ModelReply =
  | { readonly text: string, readonly pieces?: number, readonly gapMs?: number }
  | { readonly call: { readonly name: string, readonly arguments: string } }
  | { readonly status: number }
  | { readonly breaks: true }

/** Answers a request. */
export type Script = (request: ModelRequest) => ModelReply | Promise<ModelReply>

/** What the model was asked since `follow` was called last. */
export interface ModelUse {
  /** Requests, those that failed included. */
  readonly calls: number
  /** Characters of the messages that were sent to it, and of its answers. */
  readonly sent: number
  readonly answered: number
  /** Characters of the largest request. */
  readonly largest: number
}

/** An OpenAI-compatible API that both sides of a comparison ask. */
export interface ScriptedModel {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string
  /** Follows a script from now on, and counts anew. */
  follow (script: Script): void
  use (): ModelUse
  close (): Promise<void>
}

const NOTHING: ModelUse = { calls: 0, sent: 0, answered: 0, largest: 0 }

/** Starts the model on a free port. */
export async function startScriptedModel (): Promise<ScriptedModel> {
  let script: Script = () => ({ text: 'There is no script yet.' })
  let use = NOTHING
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error('the scripted model:', error)
      response.destroy()
    })
  })

  async function answer (incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = JSON.parse(await bodyOf(incoming)) as ModelRequest
    const length = request.messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0)
    use = { ...use, calls: use.calls + 1, sent: use.sent + length, largest: Math.max(use.largest, length) }
    const reply = await script(request)
    if ('breaks' in reply) response.socket?.destroy()
    else if ('status' in reply) sendJson(response, reply.status, { error: { message: 'out of order', type: 'server_error' } })
    else {
      const size = 'text' in reply ? reply.text.length : reply.call.arguments.length
      use = { ...use, answered: use.answered + size }
      if (request.stream === true) await stream(response, reply, length)
      else sendJson(response, 200, completion(reply, length))
    }
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    follow (next) { [script, use] = [next, NOTHING] },
    use: () => use,
    async close () {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}

/** The text of a message, whatever its form. */
export function textOf (message: ModelMessage | undefined): string {
  const content = message?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

/** Tokens as both sides are charged here: a quarter of the characters. No tokenizer is the right one for a script. */
export function tokensOf (characters: number): number {
  return Math.round(characters / 4)
}

type Said = Extract<ModelReply, { readonly text: string } | { readonly call: object }>

/** What all parts of an answer begin with. The id is its own: LangGraph takes a message with a known id for a new version of that one. */
function headOf (): object {
  return { id: `chatcmpl-${randomUUID()}`, created: 1741569952, model: 'scripted' }
}

function usageOf (reply: Said, length: number): object {
  const [prompt, answered] = [tokensOf(length), tokensOf('text' in reply ? reply.text.length : reply.call.arguments.length)]
  return { prompt_tokens: prompt, completion_tokens: answered, total_tokens: prompt + answered }
}

function callsOf (call: { readonly name: string, readonly arguments: string }): object[] {
  return [{ index: 0, id: `call_${randomUUID()}`, type: 'function', function: call }]
}

function completion (reply: Said, length: number): object {
  const message = 'text' in reply ? { role: 'assistant', content: reply.text } : { role: 'assistant', content: null, tool_calls: callsOf(reply.call) }
  const choices = [{ index: 0, message, finish_reason: 'text' in reply ? 'stop' : 'tool_calls' }]
  return { ...headOf(), object: 'chat.completion', choices, usage: usageOf(reply, length) }
}

async function stream (response: ServerResponse, reply: Said, length: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const head = headOf()
  const send = (fields: object): void => { response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`) }
  const choice = (delta: object, finish: string | null = null): void => { send({ choices: [{ index: 0, delta, finish_reason: finish }] }) }
  choice({ role: 'assistant', content: '' })
  if ('call' in reply) choice({ tool_calls: callsOf(reply.call) })
  else {
    const { text, pieces = 1, gapMs = 0 } = reply
    const size = Math.ceil(text.length / pieces)
    for (let from = 0; from < text.length; from += size) {
      choice({ content: text.slice(from, from + size) })
      if (gapMs > 0) await sleep(gapMs)
    }
  }
  choice({}, 'text' in reply ? 'stop' : 'tool_calls')
  send({ choices: [], usage: usageOf(reply, length) })
  response.end('data: [DONE]\n\n')
}

function sendJson (response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

/** The whole body of a request. */
export async function bodyOf (request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
