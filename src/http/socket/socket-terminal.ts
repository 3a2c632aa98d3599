import { requestInvalid, ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { USUAL_SIZE } from '../../exec/pty.ts'
import { type TerminalReader } from '../../exec/terminal/terminal-reader.ts'
import { type OpenTerminal } from '../../service/sessions/open-terminal.ts'
import { type TerminalDoor } from '../../service/sessions/terminal-door.ts'
import { type Client } from './client.ts'
import { type Frame, type FrameOf } from './frames.ts'
import { type SocketConnection } from './socket-connection.ts'
import { KeyRate } from './key-rate.ts'

/** The most bytes of typed keys in one frame (WebSocket message). */
const MAX_KEYS = 64 * 1024

/** The types of frames (WebSocket messages) that do not count towards the limit on the caller's requests in each minute, if a terminal takes them. */
const KEYS: ReadonlySet<Json | undefined> = new Set(['data', 'resize'])

export interface SocketTerminalOptions {
  readonly connection: SocketConnection
  readonly client: Client
  readonly terminals: TerminalDoor
}

/** Connects one client to a terminal (a shell on a target), one terminal at a time. */
export class SocketTerminal {
  readonly #options: SocketTerminalOptions
  readonly #rate = new KeyRate()
  #open: OpenTerminal | undefined

  constructor (options: SocketTerminalOptions) {
    this.#options = options
  }

  /** The id of the terminal that the client has open; `undefined` if it has none open. */
  get id (): string | undefined {
    return this.#open?.id
  }

  isKeys ({ type }: JsonObject): boolean {
    return KEYS.has(type)
  }

  /** Handles a frame that concerns terminals. @returns false for any other frame @throws ServiceError */
  async take (frame: Frame): Promise<boolean> {
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

  /** Disconnects the client, which has left, from its terminal; the shell of the terminal stays open. */
  close (): void {
    this.#open?.leave()
    this.#open = undefined
  }

  async #openOn ({ target, cols = USUAL_SIZE.cols, rows = USUAL_SIZE.rows }: FrameOf<'terminal_open'>): Promise<void> {
    this.#refuseSecond()
    const { client, terminals } = this.#options
    const { terminalId } = await terminals.open(client.caller(), target, { cols, rows })
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
    const { client, terminals, connection } = this.#options
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
    const seat: OpenTerminal = await terminals.attach(() => client.caller(), id, reader)
    this.#open?.leave()
    this.#open = seat
    seat.take()
  }

  /**
   * Runs a step that may fail because the client has lost the right to use the terminal. Such an error is dropped, since the client gets a
   * frame that ends the terminal anyway. Only the error that the client's token is unknown is thrown; it ends the whole socket.
   */
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

  /** The terminal that the client has open. @throws REQUEST_INVALID when the client has none open */
  #current (): OpenTerminal {
    if (this.#open === undefined) throw requestInvalid('there is no terminal; send terminal_open or terminal_attach', { part: 'frame' })
    return this.#open
  }
}
