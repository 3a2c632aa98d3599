import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Rates } from '../../access/rates.ts'
import { refusalBy, type RightsWatch } from '../../access/rights.ts'
import { requestInvalid, roleMissing, ServiceError, tooManySockets } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { USUAL_SIZE } from '../../exec/executor.ts'
import type { TerminalReader } from '../../exec/terminal/terminal-state.ts'
import type { Generation } from '../../registry/generation.ts'
import type { OpenTerminal, TerminalService } from '../../service/sessions/terminal-service.ts'
import { eventsOf, type FeedItem, timeOf } from '../../session/follow.ts'
import type { App } from '../app.ts'
import { SOCKET_PATH } from '../connections.ts'
import { skillErrorText } from '../error-replies.ts'
import { checkOrigin } from '../access.ts'
import { type SocketPeer, clientOf, type FrameHandler, SocketConnection, TOKEN_GONE, UNAUTHORIZED } from './socket-connection.ts'
import { type ClientFrame, type FrameOf, readFrame } from './frames.ts'
import { type SkillServices, SocketSkill } from './socket-skill.ts'

/** In bytes a second; after a pause, those of one second at once. */
const KEYS_A_SECOND = 64 * 1024

class KeyRate {
  #left = KEYS_A_SECOND
  #since = performance.now()

  async take (bytes: number): Promise<void> {
    const now = performance.now()
    this.#left = Math.min(KEYS_A_SECOND, this.#left + (now - this.#since) / 1000 * KEYS_A_SECOND) - bytes
    this.#since = now
    if (this.#left < 0) await sleep(-this.#left / KEYS_A_SECOND * 1000)
  }
}

/** Bytes of keys in one frame. */
const MAX_KEYS = 64 * 1024

/** Not counted towards the caller's limit on requests, if a terminal takes them. */
const KEYS: ReadonlySet<Json | undefined> = new Set(['data', 'resize'])

class SocketTerminal {
  readonly #connection: SocketConnection
  readonly #client: SocketPeer
  readonly #terminals: TerminalService
  readonly #rate = new KeyRate()
  #open: OpenTerminal | undefined

  constructor (connection: SocketConnection, client: SocketPeer, terminals: TerminalService) {
    this.#connection = connection
    this.#client = client
    this.#terminals = terminals
  }

  get id (): string | undefined {
    return this.#open?.id
  }

  isKeys ({ type }: JsonObject): boolean {
    return KEYS.has(type)
  }

  /** @returns false for a frame of something else @throws ServiceError */
  async take (frame: ClientFrame): Promise<boolean> {
    switch (frame.type) {
      case 'terminal_open': await this.#openOn(frame); break
      case 'terminal_attach': await this.#returnTo(frame); break
      case 'data': await this.#type(frame); break
      case 'resize': await this.#resize(frame); break
      case 'close': await this.#current().end('closed by its user'); break
      default: return false
    }
    return true
  }

  /** The terminal's shell stays open. */
  close (): void {
    this.#open?.leave()
    this.#open = undefined
  }

  async #openOn ({ target, cols = USUAL_SIZE.cols, rows = USUAL_SIZE.rows }: FrameOf<'terminal_open'>): Promise<void> {
    this.#refuseSecond()
    const { terminalId } = await this.#terminals.open(this.#client.caller(), target, { cols, rows })
    await this.#attach(terminalId)
  }

  async #returnTo ({ terminalId, cols, rows }: FrameOf<'terminal_attach'>): Promise<void> {
    if (this.#open?.id !== terminalId) this.#refuseSecond()
    await this.#attach(terminalId)
    this.#current().resize({ cols, rows })
  }

  async #type ({ data }: FrameOf<'data'>): Promise<void> {
    const bytes = Buffer.byteLength(data)
    if (bytes > MAX_KEYS) throw requestInvalid(`data: expected at most ${MAX_KEYS} bytes, got ${bytes}; nothing was typed`, { part: 'frame' })
    const terminal = this.#current()
    await this.#rate.take(bytes)
    this.#unlessGone(() => { terminal.keys(data) })
  }

  async #resize ({ cols, rows }: FrameOf<'resize'>): Promise<void> {
    const terminal = this.#current()
    this.#unlessGone(() => { terminal.resize({ cols, rows }) })
  }

  async #attach (id: string): Promise<void> {
    const connection = this.#connection
    const reader: TerminalReader = {
      get unread () { return connection.unread },
      data (data) { connection.send({ type: 'data', data }) },
      state (state) { connection.send({ type: 'terminal', terminalId: id, target: seat.target, state }) },
      closed: reason => {
        if (this.#open === seat) this.#open = undefined
        connection.send({ type: 'close', terminalId: id, reason })
      },
      cut () { connection.cut() }
    }
    const seat: OpenTerminal = await this.#terminals.attach(() => this.#client.caller(), id, reader)
    this.#open?.leave()
    this.#open = seat
    seat.take()
  }

  /** Drops the error of a lost right: the client gets a frame that ends the terminal. An unknown token ends the whole socket. */
  #unlessGone (work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof ServiceError) || error.statusCode === 401) throw error
    }
  }

  #refuseSecond (): void {
    if (this.#open !== undefined) throw requestInvalid('expected one terminal at a time over a socket; open another socket', { part: 'frame' })
  }

  /** @throws REQUEST_INVALID when the client has none open */
  #current (): OpenTerminal {
    if (this.#open === undefined) throw requestInvalid('there is no terminal; send terminal_open or terminal_attach', { part: 'frame' })
    return this.#open
  }
}

/** Of all callers together, and of one caller. */
const [MAX_SOCKETS, MAX_OF_CALLER] = [1000, 50]

/** @param origins may connect beside the service's own */
export function socketRoutes (app: App, services: SkillServices & {
  readonly rates: Rates
  readonly rights: RightsWatch
  readonly registry: { readonly generation: Generation }
}, origins: readonly string[]): void {
  const allowed = { origins: new Set(origins) }
  const open = new Map<SocketConnection, string>()

  function checkRoom (name: string): void {
    const ofCaller = [...open.values()].filter(each => each === name).length
    if (open.size >= MAX_SOCKETS || ofCaller >= MAX_OF_CALLER) throw tooManySockets(MAX_OF_CALLER)
  }

  app.get(SOCKET_PATH, {
    websocket: true,
    config: { role: 'run', orRoles: ['terminal'] },
    onRequest (request, _reply, done) {
      try {
        // Browsers let any page open a WebSocket to any host, whatever CORS says.
        checkOrigin(request.headers, allowed)
        checkRoom(request.caller.name)
        done()
      } catch (error) {
        done(error as Error)
      }
    }
  }, (socket: WebSocket, request: FastifyRequest) => {
    const client = clientOf(request, services.registry)
    const connection = new SocketConnection(socket, client, services.rates, request.log)
    open.set(connection, request.caller.name)
    const leave = services.rights.watch(() => whyGone(client), ({ message }) => { connection.close(TOKEN_GONE, message) })
    socket.once('close', () => {
      leave()
      open.delete(connection)
    })
    connection.serve(openSocketFrames({ connection, client, log: request.log, services }))
  })
}

/** A token that has lost its roles keeps the socket, and is refused each frame; an identity without any row is as a token that is gone. */
function whyGone (client: SocketPeer): ServiceError | undefined {
  const refusal = refusalBy(() => client.caller())
  return refusal?.statusCode === UNAUTHORIZED || refusal?.code === 'IDENTITY_UNLISTED' ? refusal : undefined
}

const MAX_FOLLOWED = 100

function openSocketFrames ({ connection, client, log, services }: {
  connection: SocketConnection
  client: SocketPeer
  log: FastifyBaseLogger
  services: SkillServices
}): FrameHandler {
  const closing = new AbortController()
  const followed = new Map<string, AbortController>()
  const follow = (id: string, after: number, signal = closing.signal): Promise<AsyncGenerator<FeedItem>> =>
    services.sessions.follow(client.caller, id, after, signal)
  const terminal = new SocketTerminal(connection, client, services.terminals)
  const skill = new SocketSkill({ connection, client, services, follow, signal: closing.signal, onLost, terminal: () => terminal.id })

  /** The socket may also be opened with the role `terminal` alone. @throws ROLE_MISSING */
  function requireRun (): void {
    const { name, roles } = client.caller()
    if (!roles.has('run')) throw roleMissing(name, 'run', [...roles])
  }

  async function subscribe ({ sessionId: id, after = 0 }: FrameOf<'subscribe'>): Promise<void> {
    if (followed.has(id)) return
    if (followed.size === MAX_FOLLOWED) throw requestInvalid(`expected at most ${MAX_FOLLOWED} subscriptions`, { part: 'frame' })
    const leaving = new AbortController()
    const events = await follow(id, after, AbortSignal.any([closing.signal, leaving.signal]))
    followed.set(id, leaving)
    void pump(events, id, leaving.signal).finally(() => { if (followed.get(id) === leaving) followed.delete(id) })
  }

  function unsubscribe ({ sessionId: id }: FrameOf<'unsubscribe'>): void {
    followed.get(id)?.abort()
    followed.delete(id)
  }

  async function pump (events: AsyncGenerator<FeedItem>, sessionId: string, left: AbortSignal): Promise<void> {
    try {
      for await (const each of events) {
        if (left.aborted) return
        for (const frame of framesOf(each, sessionId)) connection.send(frame)
      }
    } catch (error) {
      onLost(error, 'error')
    }
  }

  /** The right was lost, or the session could not be read: then the socket is closed, too. */
  function onLost (error: unknown, type: 'error' | 'skill_error'): void {
    if (error instanceof ServiceError && error.statusCode < 500) return connection.fail(error, frameOf(type))
    log.warn({ err: error }, 'a session could not be followed')
    if (error instanceof ServiceError) connection.send(frameOf(type)(error))
    connection.close(1011, 'a session could not be followed')
  }

  return {
    async take (given) {
      const frame = readFrame(given)
      if (await terminal.take(frame)) return
      requireRun()
      if (frame.type === 'subscribe') return await subscribe(frame)
      if (frame.type === 'unsubscribe') return unsubscribe(frame)
      await skill.take(frame)
    },
    errorOf: (error: ServiceError, frame) => frameOf(typeof frame?.['type'] === 'string' && frame['type'].startsWith('skill') ? 'skill_error' : 'error')(error),
    isKeys: frame => terminal.isKeys(frame),
    takesKeys: () => terminal.id !== undefined,
    close () {
      terminal.close()
      closing.abort()
    }
  }
}

/** Describes the approval that waits now if another was decided; else has the details `at`, a process's address or a time, and `reason`. */
function frameOf (type: 'error' | 'skill_error'): (error: ServiceError) => JsonObject {
  return error => {
    const { code, message, details } = error
    const { next, at, reason } = (details ?? {}) as { readonly next?: JsonObject, readonly at?: string, readonly reason?: string }
    const known: JsonObject = next !== undefined ? { next } : { ...at === undefined ? {} : { at }, ...reason === undefined ? {} : { reason } }
    const about: JsonObject = Object.keys(known).length === 0 ? {} : { details: known }
    return type === 'skill_error' ? { type, error: skillErrorText(error), code, ...about } : { type, code, message, ...about }
  }
}

function framesOf (followed: FeedItem, sessionId: string): JsonObject[] {
  if ('live' in followed) return [{ type: 'live', sessionId, data: { ...followed.live, at: timeOf(Date.now()) } }]
  const { seq } = followed.transition
  return eventsOf(followed.transition).map(({ type, data }, n) => ({ type: 'event', sessionId, seq, n, event: type, data }))
}
