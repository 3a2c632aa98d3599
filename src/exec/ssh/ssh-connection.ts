import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import ssh2, { type Client, type ConnectConfig } from 'ssh2'
import { type SshTarget } from '../../config/operator.ts'
import { ExecutorError } from '../executor.ts'

/** How long a connection with its login may take, in ms. */
const CONNECT = 10_000

/** How long an unused connection is kept, in ms. */
const IDLE = 300_000

/** An open connection, and the number of its users. */
interface Kept {
  readonly client: Promise<Client>
  uses: number
}

/** A connection to a target that commands share. It is opened when a command needs it, kept while commands use it, and closed some time later. */
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

  /** Runs `work` with the connection. @throws ExecutorError when the target cannot be reached */
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

  /** Makes later calls of `use` open a new connection. Present users may go on with the old one. */
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
    // Every command listens for the connection's end. The number of commands is bounded elsewhere, so no limit of listeners is needed.
    const client = new ssh2.Client().setMaxListeners(0)
    let seen: string | undefined
    return await new Promise((resolve, reject) => {
      client.once('ready', () => { resolve(client) })
      // The listener stays for as long as the connection: an error event without a listener would end the process.
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
        // The host key is verified before any key of the client is offered.
        hostVerifier (key: Buffer) {
          seen = fingerprintOf(key)
          return isEqual(seen, hostKey)
        }
      })
    })
  }

  /** The single way to log in: the target's key file, or else the agent. Passwords and questions are never used. */
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

/** The fingerprint of a host key, as `ssh-keygen -l` prints it. */
function fingerprintOf (key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

function isEqual (one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
