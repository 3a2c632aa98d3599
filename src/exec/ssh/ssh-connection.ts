import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import ssh2, { type Client, type ConnectConfig } from 'ssh2'
import { type SshTarget } from '../../config/operator.ts'
import { ExecutorError } from '../executor.ts'

/** The time limit for opening a connection and logging in, in ms. */
const CONNECT = 10_000

/** The time after which an unused connection is closed, in ms. */
const IDLE = 300_000

/** An open SSH connection, and the number of commands that use it. */
interface Kept {
  readonly client: Promise<Client>
  uses: number
}

/**
 * The SSH connection to a target (a remote machine), shared by its commands. It is opened when a command needs it, kept while commands use it, and
 * closed `IDLE` ms after the last use.
 */
export class SshConnection {
  readonly #target: SshTarget
  readonly #agent: string | undefined
  #kept: Kept | undefined
  #idle: NodeJS.Timeout | undefined

  /** Creates the connection, without opening it yet. @param agent the socket of an SSH agent, for a target without a key file */
  constructor (target: SshTarget, agent: string | undefined) {
    this.#target = target
    this.#agent = agent
  }

  /** Runs `work` with the connection, which is opened if there is none. @throws ExecutorError when the target cannot be reached */
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

  /** Makes later calls of `use` open a new connection. Commands that run now keep the old connection. */
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
    // Each command listens for the end of the connection. Node's limit of listeners is turned off, since executors limit the number of commands.
    const client = new ssh2.Client().setMaxListeners(0)
    let seen: string | undefined
    return await new Promise((resolve, reject) => {
      client.once('ready', () => { resolve(client) })
      // The listener stays as long as the connection, because an error event without a listener would end this process.
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
        // The remote machine's key is verified before any key of this service is offered to it.
        hostVerifier (key: Buffer) {
          seen = fingerprintOf(key)
          return isEqual(seen, hostKey)
        }
      })
    })
  }

  /**
   * The only ways to log in: the target's key file, or else the SSH agent. Passwords are never used, and questions of the remote machine
   * are not answered.
   */
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

/** The fingerprint of a remote machine's key, as `ssh-keygen -l` prints it. */
function fingerprintOf (key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replaceAll('=', '')}`
}

function isEqual (one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
