import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import type { Rates } from '../../access/rates.ts'
import { rateLimited, ServiceError } from '../../base/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import type { Generation } from '../../registry/generation.ts'
import { FREE_UNREAD, holdUnread } from '../send-reply.ts'

/** How often the service pings a client, in ms. A client that has not answered by the next ping is disconnected. */
const HEARTBEAT = 30_000

/**
 * The most unread bytes of one client. A client with more is disconnected; it connects again and continues with the event after the last one
 * that it received.
 */
const MAX_BEHIND = 1024 * 1024

/** The WebSocket code with which a socket is closed when its client's token has been revoked, and the HTTP status that means the same. */
export const [TOKEN_GONE, UNAUTHORIZED] = [4401, 401]

/**
 * The most requests of one client that wait to be handled, and the most characters in its waiting frames that are no requests (typed keys,
 * sizes of a terminal). A client with more is disconnected.
 */
const MAX_WAITING = 100
const MAX_WAITING_LENGTH = 1024 * 1024

/** Handles the frames (WebSocket messages) of one client, one after the other. */
export interface FrameHandler {
  /** Handles one frame. @throws ServiceError, whose code and message are sent to the client */
  take (frame: JsonObject): Promise<void>
  /** The frame that tells the client of an error. */
  errorOf (error: ServiceError, frame: JsonObject | undefined): JsonObject
  /** Whether a frame is for the terminal: a typed key, or a change of its size. */
  isKeys (frame: JsonObject): boolean
  /** Whether the client has a terminal open. Without one, such a frame counts as a request, as all others do. */
  takesKeys (): boolean
  close (): void
}

/** The options of a connection. */
export interface ConnectionOptions {
  readonly client: Client
  readonly rates: Rates
  readonly log: FastifyBaseLogger
}

/**
 * The WebSocket of one client. Its JSON frames are handled one after the other. Each counts as a request against the caller's limit, except
 * what is typed into an open terminal, and changes of its size.
 */
export class SocketConnection {
  readonly #socket: WebSocket
  readonly #options: ConnectionOptions
  #waiting = 0
  #waitingLength = 0
  #turn = Promise.resolve()
  #isAlive = true
  /** Gives back the room that was reserved for this client's unread bytes with `holdUnread`. */
  #release = (): void => {}

  constructor (socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket
    this.#options = options
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

  /** The number of bytes that wait to be sent, because the client has not read earlier ones yet. */
  get unread (): number {
    return this.#socket.bufferedAmount
  }

  /** Closes the connection of a client that does not read, without waiting for the client. */
  cut (): void {
    this.#socket.terminate()
  }

  /** Whether the service can send the client more: the unread bytes of this client, and those of all clients together, are within their limits. */
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
    // The client has left while the frame waited: nobody wants an answer any more.
    if (this.#socket.readyState !== this.#socket.OPEN) return
    try {
      if (!isKeys || !handler.takesKeys()) this.#count()
      await handler.take(frame ?? {})
    } catch (error) {
      this.fail(error, error => handler.errorOf(error, frame))
    }
  }

  /**
   * Sends the client a frame about an error. If the error says that the client's token is unknown, the socket is closed instead.
   * @param frameOf makes the frame
   */
  fail (error: unknown, frameOf: (error: ServiceError) => JsonObject): void {
    const known = error instanceof ServiceError ? error : undefined
    if (known?.statusCode === UNAUTHORIZED) return this.close(TOKEN_GONE, known.message)
    if (known === undefined) this.#options.log.error({ err: error }, 'a frame could not be answered')
    this.send(frameOf(known ?? new ServiceError('INTERNAL', 500, 'Something went wrong')))
  }

  #count (): void {
    const { client, rates } = this.#options
    const caller = client.caller()
    const state = rates.remaining(caller, 'requests')
    if (state?.remaining === 0) throw rateLimited(caller.name, 'requests', state.limit, state.seconds)
    rates.count(caller, 'requests', 1)
  }
}

/** Parses a frame; `undefined` when it is not an object. */
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

/**
 * The client at the other end of a WebSocket. Its rights are looked up at each use, since its token may lose rights or be removed while the
 * socket is open.
 */
export interface Client {
  /** Looks up the client's token again, and gives the caller with the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  caller (): Caller
  /** The entries (the current snapshot) that the client may see now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  generation (): Generation
  /** The id of the request that opened the socket. */
  readonly requestId: string
}

/** Makes the client of a WebSocket from the request that opened it. @param registry gives the current snapshot of entries */
export function clientOf (request: FastifyRequest, registry: { readonly generation: Generation }): Client {
  return {
    caller: () => request.callerNow(),
    generation: () => visibleGeneration(registry.generation, request.callerNow()),
    requestId: request.id
  }
}
