import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import ssh2, { type Client, type ClientChannel, type ConnectConfig, type ExecOptions } from 'ssh2'
import type { SshTarget } from '../config/operator.ts'
import { ExecutorError } from './executor.ts'
import { END_MARKED, markedFunction, MARKER, quoted, reportingFolder, waitWhile } from './scripts.ts'

/**
 * The shell script that supervises a command on a remote machine. Its shell leads the process group that sshd makes for each
 * command. Before the command it prints its process id; after the command it prints the folder in which the command ended.
 *
 * These lines begin with a secret mark, which the shell reads from its stdin. The mark is not in the command line, since any
 * process of the machine can read that. The command runs as a separate process, and reports its folder on descriptor 3.
 *
 * A watcher (a subshell in the same group) waits for the end of stdin, which comes with the end of the service or of the connection.
 * Then the watcher sends SIGTERM to the group and to all that has the command's marker, and SIGKILL 3 s later. SIGTERM to the group ends the
 * command, but none of these shells.
 * Where sshd makes no groups, the watcher kills the supervising shell alone. Messages of the shells are kept out of the command's output.
 *
 * The reader of the report stops at the report's last line, and does not wait until descriptor 3 is closed: a process that the
 * command left behind may keep it open.
 */
const SUPERVISOR = `
exec 4>&1 5<&0 6>&2 </dev/null 2>/dev/null
IFS= read -r mark <&5 || exit
if [ -n "$1" ] && ! cd -- "$1"; then echo "$mark begin nowhere"; exit 1; fi
trap : TERM INT HUP
trap gone=1 USR1
marker=$3
${markedFunction('"$marker"')}
${END_MARKED}
{
  trap "" TERM INT HUP USR1
  read -r _ <&5
  kill -USR1 $$
  kill -TERM -$$
  endMarked 3
  kill -KILL -$$ || kill -KILL $$
} >/dev/null 4>&- 6>&- &
watcher=$!
echo "$mark begin $$"
{
  trap : TERM INT HUP
  (export ${MARKER}="$marker"; exec /bin/sh -c "$2" 3>&1 >&4 2>&6 4>&- 5<&- 6>&-)
  echo "exit $?"
} | {
  trap "" TERM INT HUP
  while IFS= read -r line; do
    case $line in
      "cwd "*) folder=\${line#cwd } ;;
      "exit "*) code=\${line#exit }; break ;;
    esac
  done
  printf "%s end %s\\n" "$mark" "$folder"
  exit "\${code:-255}"
}
code=$?
[ -n "$gone" ] || kill -KILL $watcher
exit $code
`

/** The mark is the first line of stdin, which stays open: the script ends the command when it ends. */
export function keptCommand (command: string, marker: string, cwd = ''): string {
  return `exec /bin/sh -c ${quoted(SUPERVISOR)} sh ${quoted(cwd)} ${quoted(reportingFolder(command))} ${quoted(marker)}`
}

/** A process that leads no group was begun by an sshd that makes none: nobody knows what else has to end. A zombie counts as dead. */
export function killingScript (pid: number, marker: string): string {
  const script = `
exec 2>/dev/null
IFS= read -r mark || exit
${markedFunction(quoted(marker))}
send () { kill "-$1" -${pid}; for each in $(marked); do kill "-$1" "$each"; done; }
running () {
  [ -z "$(marked)" ] || return 0
  kill -0 -${pid} || return 1
  all=$(ps -A -o pgid= -o stat=) || return 0
  echo "$all" | grep -q '^ *${pid}  *[^Z ]'
}
if kill -0 ${pid} && ! kill -0 -${pid}; then kill -KILL ${pid}; send KILL; echo "$mark alive"; exit; fi
send TERM
${waitWhile('running')}
echo "$mark dead $sent"
`
  return `exec /bin/sh -c ${quoted(script)}`
}

/** In ms. The remote script itself takes up to 4 s. */
const KILL = 8000

/** Over a new channel: many servers ignore a signal on the command's own (https://github.com/mscdex/ssh2/issues/1510). */
export async function killRemotely (client: Client, pid: number, marker: string, mark: string): Promise<'SIGTERM' | 'SIGKILL' | undefined> {
  const answer = await openExecChannel(client, killingScript(pid, marker), channel => answerOf(channel, mark)).catch(() => undefined)
  const [, sent] = new RegExp(`^${mark} dead (TERM|KILL)$`, 'm').exec(await answer?.text ?? '') ?? []
  return sent === undefined ? undefined : `SIG${sent as 'TERM' | 'KILL'}`
}

/** In an object, so that an async caller can return the promise without awaiting it. */
export function answerOf (channel: ClientChannel, mark: string): { readonly text: Promise<string> } {
  const text = new Promise<string>(resolve => {
    let said = ''
    const timer = setTimeout(() => {
      channel.destroy()
      resolve('')
    }, KILL)
    channel.write(`${mark}\n`)
    channel.stderr.resume()
    channel.on('data', (bytes: Buffer) => { said = (said + bytes.toString()).slice(-1000) })
    channel.once('close', () => {
      clearTimeout(timer)
      resolve(said)
    })
  })
  return { text }
}

/** In ms. */
const ANSWER = 10_000

/** `onOpen` listens at once: a channel can end in its first packet. `undefined`: the command perhaps began. @throws ExecutorError if refused */
export async function openExecChannel<T> (
  client: Client,
  command: string,
  onOpen: (channel: ClientChannel) => T,
  options: ExecOptions = {}
): Promise<T | undefined> {
  return await new Promise((resolve, reject) => {
    const giveUp = (): void => { settle(() => { resolve(undefined) }) }
    const timer = setTimeout(giveUp, ANSWER)
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      client.off('close', giveUp)
      end()
    }
    client.once('close', giveUp)
    try {
      client.exec(command, options, (error, channel) => {
        if (error === undefined) {
          const opened = onOpen(channel)
          settle(() => { resolve(opened) })
          // A broken connection reports this error before its close, and the command has perhaps begun: the close goes first.
        } else setImmediate(() => { settle(() => { reject(new ExecutorError('TARGET_UNREACHABLE', `the command was refused: ${error.message}`)) }) })
      })
    } catch (error) {
      // ssh2 throws at once when the connection is closed already: nothing was sent.
      settle(() => { reject(new ExecutorError('TARGET_UNREACHABLE', (error as Error).message)) })
    }
  })
}

/** In ms. */
const CONNECT = 10_000

/** In ms. */
const IDLE = 300_000

interface PooledClient {
  readonly client: Promise<Client>
  uses: number
}

/** Shared by a target's commands: opened when one needs it, and closed `IDLE` ms after the last use. */
export class SshConnection {
  readonly #target: SshTarget
  readonly #agent: string | undefined
  #kept: PooledClient | undefined
  #idle: NodeJS.Timeout | undefined

  constructor (target: SshTarget, agent: string | undefined) {
    this.#target = target
    this.#agent = agent
  }

  /** @throws ExecutorError when the target cannot be reached */
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

  /** Commands that run now keep the old connection. */
  renew (): void {
    const kept = this.#kept
    this.#kept = undefined
    if (kept?.uses === 0) end(kept)
  }

  #unused (kept: PooledClient): void {
    if (kept === this.#kept) this.#idle = setTimeout(() => { this.renew() }, IDLE).unref()
    else end(kept)
  }

  #open (): PooledClient {
    const kept: PooledClient = { client: this.#connect(), uses: 0 }
    const forget = (): void => { if (this.#kept === kept) this.#kept = undefined }
    kept.client.then(client => { client.once('close', forget) }, forget)
    return kept
  }

  async #connect (): Promise<Client> {
    const { name, host, port, user: username, hostKey } = this.#target
    const refuse = (reason: string) => new ExecutorError('TARGET_UNREACHABLE', `target "${name}" at ${host}:${port} cannot be reached: ${reason}`)
    const login = await this.#login().catch((error: unknown) => { throw refuse((error as Error).message) })
    // Each command listens; executors limit their number, so Node's limit is off.
    const client = new ssh2.Client().setMaxListeners(0)
    let seen: string | undefined
    return await new Promise((resolve, reject) => {
      client.once('ready', () => { resolve(client) })
      // An error event without a listener would end this process.
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

  /** Passwords are never used, and questions of the remote machine are not answered. */
  async #login (): Promise<Pick<ConnectConfig, 'privateKey' | 'agent' | 'authHandler'>> {
    const { keyFile } = this.#target
    if (keyFile !== undefined) return { privateKey: await readFile(keyFile), authHandler: ['publickey'] }
    if (this.#agent === undefined) throw new Error('it has no keyFile, and there is no agent at SSH_AUTH_SOCK')
    return { agent: this.#agent, authHandler: ['agent'] }
  }
}

function end ({ client }: PooledClient): void {
  client.then(opened => { opened.destroy() }, () => {})
}

/** As `ssh-keygen -l` prints it. */
function fingerprintOf (key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replaceAll('=', '')}`
}

function isEqual (one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
