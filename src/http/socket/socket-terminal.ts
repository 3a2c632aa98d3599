import { requestInvalid, ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { MAX_SIDE, type Size, USUAL_SIZE } from '../../exec/pty.ts'
import { type TerminalReader } from '../../exec/terminal/terminal-reader.ts'
import { type OpenTerminal } from '../../service/sessions/open-terminal.ts'
import { type TerminalDoor } from '../../service/sessions/terminal-door.ts'
import { type Client } from './client.ts'
import { textOf } from './frame-fields.ts'
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
  async take (frame: JsonObject): Promise<boolean> {
    const { type } = frame
    const take = typeof type === 'string' && Object.hasOwn(this.#frames, type) ? this.#frames[type] : undefined
    await take?.(frame)
    return take !== undefined
  }

  /** Disconnects the client, which has left, from its terminal; the shell of the terminal stays open. */
  close (): void {
    this.#open?.leave()
    this.#open = undefined
  }

  readonly #frames: Readonly<Record<string, (frame: JsonObject) => Promise<void>>> = {
    terminal_open: async ({ target, ...size }) => {
      this.#refuseSecond()
      const { client, terminals } = this.#options
      const { terminalId } = await terminals.open(client.caller(), textOf(target, 'target'), sizeIn(size))
      await this.#attach(terminalId)
    },
    terminal_attach: async ({ terminalId, ...size }) => {
      const id = textOf(terminalId, 'terminalId')
      if (this.#open?.id !== id) this.#refuseSecond()
      await this.#attach(id)
      if (size['cols'] !== undefined || size['rows'] !== undefined) this.#current().resize(sizeIn(size))
    },
    data: async ({ data }) => {
      const text = textOf(data, 'data')
      const bytes = Buffer.byteLength(text)
      if (bytes > MAX_KEYS) throw requestInvalid(`data: expected at most ${MAX_KEYS} bytes, got ${bytes}; nothing was typed`, { part: 'frame' })
      const terminal = this.#current()
      await this.#rate.take(bytes)
      this.#unlessGone(() => { terminal.keys(text) })
    },
    resize: async frame => {
      const size = sizeIn(frame)
      const terminal = this.#current()
      this.#unlessGone(() => { terminal.resize(size) })
    },
    close: async () => { await this.#current().end('closed by its user') }
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

/** Reads the size of the terminal from a frame. @throws REQUEST_INVALID */
function sizeIn ({ cols = USUAL_SIZE.cols, rows = USUAL_SIZE.rows }: Readonly<Record<string, Json | undefined>>): Size {
  return { cols: side(cols, 'cols'), rows: side(rows, 'rows') }
}

function side (value: Json, name: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_SIDE) return value
  throw requestInvalid(`${name}: expected a whole number from 1 to ${MAX_SIDE}`, { part: 'frame' })
}
