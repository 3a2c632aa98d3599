import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import ssh2, { type Client, type ConnectConfig } from 'ssh2'
import { type SshTarget } from '../../config/operator.ts'
import { ExecutorError } from '../executor.ts'

/** For a connection with its login, in ms. */
const CONNECT = 10_000

/** How long an unused connection is kept, in ms. */
const IDLE = 300_000

/** A connection, and how many use it. */
interface Kept {
  readonly client: Promise<Client>
  uses: number
}

/** The one connection to a target. It is opened when a command needs it, kept while commands use it, and closed some time later. */
export class SshConnection {
  readonly #target: SshTarget
  readonly #agent: string | undefined
  #kept: Kept | undefined
  #idle: NodeJS.Timeout | undefined

  /** @param agent the socket of an agent, for a target without a key */
  constructor (target: SshTarget, agent: string | undefined) {
    this.#target = target
    this.#agent = agent
  }

  /** Does something over the connection. @throws ExecutorError when there is none */
  async use<T> (work: (client: Client) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle)
    const kept = this.#kept ??= this.#open()
    kept.uses++
    try {
      return await work(await kept.client)
    } finally {
      kept.uses--
      if (kept.uses === 0) this.#unused(kept)
    }
  }

  /** Uses another connection from here on; who uses this one may go on. */
  renew (): void {
    const kept = this.#kept
    this.#kept = undefined
    if (kept?.uses === 0) end(kept)
  }

  #unused (kept: Kept): void {
    if (kept === this.#kept) this.#idle = setTimeout(() => { this.renew() }, IDLE).unref()
    else end(kept)
  }

  #open (): Kept {
    const kept: Kept = { client: this.#connect(), uses: 0 }
    const forget = (): void => { if (this.#kept === kept) this.#kept = undefined }
    kept.client.then(client => { client.once('close', forget) }, forget)
    return kept
  }

  async #connect (): Promise<Client> {
    const { name, host, port, user: username, hostKey } = this.#target
    const refuse = (reason: string) => new ExecutorError('TARGET_UNREACHABLE', `target "${name}" at ${host}:${port} cannot be reached: ${reason}`)
    const login = await this.#login().catch((error: unknown) => { throw refuse((error as Error).message) })
    // Every command listens for its end, and of those there is a bound.
    const client = new ssh2.Client().setMaxListeners(0)
    let seen: string | undefined
    return await new Promise((resolve, reject) => {
      client.once('ready', () => { resolve(client) })
      // An error without a listener would end the process, also later.
      client.on('error', error => {
        client.destroy()
        reject(refuse(seen !== undefined && seen !== hostKey ? `expected the host key ${hostKey}, got ${seen}` : error.message))
      })
      client.once('close', () => { reject(refuse('the connection was closed')) })
      client.connect({
        host,
        port,
        username,
        ...login,
        readyTimeout: CONNECT,
        keepaliveInterval: 10_000,
        keepaliveCountMax: 3,
        // Comes before any key is offered.
        hostVerifier (key: Buffer) {
          seen = fingerprintOf(key)
          return isEqual(seen, hostKey)
        }
      })
    })
  }

  /** One way to log in, and no other: no password, no question, no agent of the host's. */
  async #login (): Promise<Pick<ConnectConfig, 'privateKey' | 'agent' | 'authHandler'>> {
    const { keyFile } = this.#target
    if (keyFile !== undefined) return { privateKey: await readFile(keyFile), authHandler: ['publickey'] }
    if (this.#agent === undefined) throw new Error('it has no keyFile, and there is no agent at SSH_AUTH_SOCK')
    return { agent: this.#agent, authHandler: ['agent'] }
  }
}

function end ({ client }: Kept): void {
  client.then(opened => { opened.destroy() }, () => {})
}

/** As `ssh-keygen -l` prints it. */
function fingerprintOf (key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

function isEqual (one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
