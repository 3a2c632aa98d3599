import { readdirSync, readFileSync } from 'node:fs'
import { type ServerResponse } from 'node:http'
import { type Answer } from './upstream-server.ts'

/** What an upstream does with one request, as a file under `test/fixtures/upstream` says it. */
export interface ScriptedReply {
  /** Default 200; `null` sends no head at all. */
  readonly status?: number | null
  readonly headers?: Readonly<Record<string, string>>
  /** Written one after the other, each in a turn of its own: a text, bytes in hexadecimal, or a text many times over. */
  readonly pieces?: readonly (string | { readonly hex: string } | { readonly text: string, readonly times: number })[]
  /** What comes then: a whole reply's end (default), silence, a reset, or a connection that is closed too early. */
  readonly end?: 'whole' | 'stall' | 'reset' | 'close'
}

/** One fault: what the upstream does, and what comes of it. */
export interface Script<E> {
  readonly title: string
  /** One a hit; the last one repeats. */
  readonly replies: readonly ScriptedReply[]
  readonly expected: E
}

const FIXTURES = new URL('../fixtures/upstream/', import.meta.url)

/** All scripts of one folder under `test/fixtures/upstream`, in the order of their names. */
export function readScripts<E> (folder: string): Script<E>[] {
  const directory = new URL(`${folder}/`, FIXTURES)
  return readdirSync(directory).sort().map(name => JSON.parse(readFileSync(new URL(name, directory), 'utf8')) as Script<E>)
}

/** Only an upstream that falls silent is waited for briefly: on a busy machine, one that answers may take long. */
export function timeoutsFor (replies: readonly ScriptedReply[]) {
  const patience = replies.some(({ status, end }) => status === null || end === 'stall') ? 100 : 30_000
  return { firstByte: patience, idle: patience, total: 60_000 }
}

/** An upstream that follows a script. */
export function followScript (replies: readonly ScriptedReply[]): Answer {
  return (_hit, response, count) => {
    const reply = replies[Math.min(count, replies.length) - 1]
    if (reply !== undefined) play(reply, response).catch(() => response.destroy())
  }
}

const ENDINGS: Record<NonNullable<ScriptedReply['end']>, (response: ServerResponse) => void> = {
  whole: response => { response.end() },
  stall: response => { response.flushHeaders() },
  reset: response => { response.socket?.resetAndDestroy() },
  close: response => { response.socket?.destroySoon() }
}

async function play (reply: ScriptedReply, response: ServerResponse): Promise<void> {
  if (reply.status !== null) response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
  for (const piece of reply.pieces ?? []) {
    if (typeof piece === 'string') await write(response, piece)
    else if ('hex' in piece) await write(response, Buffer.from(piece.hex.replaceAll(' ', ''), 'hex'))
    else for (let time = 0; time < piece.times && !response.destroyed; time++) await write(response, piece.text)
  }
  ENDINGS[reply.end ?? 'whole'](response)
}

/** Writes one piece and lets it leave before the next. */
async function write (response: ServerResponse, piece: string | Buffer): Promise<void> {
  await new Promise(resolve => {
    response.once('close', resolve)
    response.write(piece, resolve)
  })
  response.removeAllListeners('close')
  await new Promise(resolve => setImmediate(resolve))
}
