import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/views.ts'
import type { Rates } from '../../access/rates.ts'
import { rateLimited, ServiceError } from '../../base/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import type { Generation } from '../../registry/generation.ts'
import { FREE_UNREAD, holdUnread } from '../send-reply.ts'

/** In ms; a client without an answer by the next ping is disconnected. */
const HEARTBEAT = 30_000

/** Unread bytes; a client with more is cut off, and continues after the last event it received. */
const MAX_BEHIND = 1024 * 1024

/** For a revoked token: the WebSocket code, and the HTTP status that means the same. */
export const [TOKEN_GONE, UNAUTHORIZED] = [4401, 401]

/** A client is cut off above so many waiting requests, or so many characters of typed keys. */
const MAX_WAITING = 100
const MAX_WAITING_LENGTH = 1024 * 1024

export interface FrameHandler {
  /** @throws ServiceError, whose code and message are sent to the client */
  take (frame: JsonObject): Promise<void>
  errorOf (error: ServiceError, frame: JsonObject | undefined): JsonObject
  isKeys (frame: JsonObject): boolean
  /** Without an open terminal, such a frame counts as a request. */
  takesKeys (): boolean
  close (): void
}

/** Frames are handled one after the other, each as a request against the caller's limit, except keys for an open terminal. */
export class SocketConnection {
  readonly #socket: WebSocket
  readonly #client: SocketPeer
  readonly #rates: Rates
  readonly #log: FastifyBaseLogger
  #waiting = 0
  #waitingLength = 0
  #turn = Promise.resolve()
  #isAlive = true
  #release = (): void => {}

  constructor (socket: WebSocket, client: SocketPeer, rates: Rates, log: FastifyBaseLogger) {
    this.#socket = socket
    this.#client = client
    this.#rates = rates
    this.#log = log
  }

  serve (handler: FrameHandler): void {
    const heartbeat = setInterval(() => { this.#beat() }, HEARTBEAT)
    heartbeat.unref()
    this.#socket.on('pong', () => { this.#isAlive = true })
    this.#socket.on('message', (data: Buffer, isBinary: boolean) => { this.#receive(isBinary ? undefined : data.toString(), handler) })
    this.#socket.once('close', () => {
      clearInterval(heartbeat)
      this.#release()
      handler.close()
    })
  }

  send (frame: JsonObject): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    if (!this.#hasRoom()) return this.#socket.terminate()
    this.#socket.send(stringifyJson(frame))
  }

  get unread (): number {
    return this.#socket.bufferedAmount
  }

  cut (): void {
    this.#socket.terminate()
  }

  #hasRoom (): boolean {
    const { bufferedAmount: unread } = this.#socket
    this.#release()
    if (unread <= FREE_UNREAD) return true
    const release = holdUnread(unread)
    this.#release = release ?? (() => {})
    return unread <= MAX_BEHIND && release !== undefined
  }

  close (code: number, reason: string): void {
    this.#socket.close(code, reason)
  }

  #beat (): void {
    if (!this.#isAlive || !this.#hasRoom()) return this.#socket.terminate()
    this.#isAlive = false
    this.#socket.ping()
  }

  #receive (text: string | undefined, handler: FrameHandler): void {
    const frame = readFrame(text)
    const isKeys = frame !== undefined && handler.isKeys(frame)
    const [count, length] = isKeys ? [0, text?.length ?? 0] : [1, 0]
    this.#waiting += count
    this.#waitingLength += length
    if (this.#waiting > MAX_WAITING) return this.close(1008, `more than ${MAX_WAITING} frames wait`)
    if (this.#waitingLength > MAX_WAITING_LENGTH) return this.close(1008, `more than ${MAX_WAITING_LENGTH} characters of keys wait`)
    this.#turn = this.#turn.then(() => this.#take(frame, isKeys, handler)).finally(() => {
      this.#waiting -= count
      this.#waitingLength -= length
    })
  }

  async #take (frame: JsonObject | undefined, isKeys: boolean, handler: FrameHandler): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    try {
      if (!isKeys || !handler.takesKeys()) this.#count()
      await handler.take(frame ?? {})
    } catch (error) {
      this.fail(error, error => handler.errorOf(error, frame))
    }
  }

  /** Closes the socket instead if the client's token is unknown. */
  fail (error: unknown, frameOf: (error: ServiceError) => JsonObject): void {
    const known = error instanceof ServiceError ? error : undefined
    if (known?.statusCode === UNAUTHORIZED) return this.close(TOKEN_GONE, known.message)
    if (known === undefined) this.#log.error({ err: error }, 'a frame could not be answered')
    this.send(frameOf(known ?? new ServiceError('INTERNAL', 500, 'Something went wrong')))
  }

  #count (): void {
    const caller = this.#client.caller()
    const state = this.#rates.remaining(caller, 'requests')
    if (state?.remaining === 0) throw rateLimited(caller.name, 'requests', state.limit, state.seconds)
    this.#rates.count(caller, 'requests', 1)
  }
}

function readFrame (text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined
  try {
    const frame: Json = parseJson(text)
    return isJsonObject(frame) ? frame : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Rights are looked up at each use: the token may lose them while the socket is open. */
export interface SocketPeer {
  /** @throws TOKEN_UNKNOWN, ROLE_MISSING */
  caller (): Caller
  /** @throws TOKEN_UNKNOWN, ROLE_MISSING */
  generation (): Generation
  readonly requestId: string
}

export function clientOf (request: FastifyRequest, registry: { readonly generation: Generation }): SocketPeer {
  return {
    caller: () => request.callerNow(),
    generation: () => visibleGeneration(registry.generation, request.callerNow()),
    requestId: request.id
  }
}
