import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { type Client, type ClientChannel, type SFTPWrapper } from 'ssh2'
import { type SshTarget } from '../config/operator.ts'
import { ExecutorError, type Pty, type PtyEnd, type PtyOptions, type Size, TERMINAL_ENVIRONMENT, within } from './executor.ts'
import { beginShell, END_MARKED, markedFunction, MARKER, quoted, sessionKillScript } from './scripts.ts'
import { answerOf, openExecChannel, SshConnection } from './ssh-connection.ts'

/** In ms. */
const HELLO = 10_000

/** In ms. */
const ANSWER = 5000

/** In ms. */
const REST = 1000

/** The shell's process id and the folder for its files, or `nowhere` when its own folder does not exist. */
// eslint-disable-next-line no-control-regex
const FIRST_WORDS = /\x1b\]7717;(?:h;(\d{1,10});(\/[^\x07]{1,200})|nowhere)\x07/

/** By this file the watcher learns that the shell has ended by itself: what it leaves behind lives on then. */
const FAREWELL = 'farewell'

/** In UTF-16 units. */
const MAX_GREETING = 64 * 1024

/** OpenSSH allows 10 sessions on a connection, which commands need, so a shell has one of its own. @throws ExecutorError */
export async function openSshPty (target: SshTarget, agent: string | undefined, options: PtyOptions): Promise<Pty> {
  const connection = new SshConnection(target, agent)
  return await new Promise((resolve, reject) => {
    const using = connection.use(async client => {
      const pty = await begin(client, target.cwd, options)
      resolve(pty)
      await pty.ended
      await pty.killed
      await pty.farewell
    })
    void using.catch(reject).finally(() => { connection.renew() })
  })
}

async function begin (client: Client, cwd: string | undefined, options: PtyOptions): Promise<SshPty> {
  const { size: { cols, rows }, shell } = options
  const command = `exec /bin/sh -c ${quoted(beginning(shell))} sh ${quoted(cwd ?? '')}`
  const pty = { term: TERMINAL_ENVIRONMENT.TERM, cols, rows }
  // Each key is sent at once (TCP_NODELAY), without waiting for the answer to the previous packet.
  client.setNoDelay(true)
  let said = ''
  const opened = await openExecChannel(client, command, channel => {
    const ended = endOf(client, channel)
    const words = new Promise<RegExpExecArray | undefined>(resolve => {
      const timer = setTimeout(() => { resolve(undefined) }, HELLO)
      void ended.then(() => { resolve(undefined) })
      const read = (bytes: Buffer): void => {
        said += bytes.toString()
        const words = FIRST_WORDS.exec(said)
        if (words === null) {
          said = said.slice(-MAX_GREETING)
          return
        }
        clearTimeout(timer)
        channel.off('data', read)
        channel.on('data', options.onOutput)
        resolve(words)
      }
      channel.on('data', read)
      channel.stderr.resume()
    })
    return { channel, ended, words }
  }, { pty })
  if (opened === undefined) throw new ExecutorError('TARGET_UNREACHABLE', 'the connection was lost while the shell was begun')
  const { channel, ended } = opened
  const words = await opened.words
  const [, pid, files] = words ?? []
  if (words !== undefined && pid !== undefined && files !== undefined) {
    const rest = said.slice(words.index + words[0].length)
    if (rest !== '') options.onOutput(Buffer.from(rest))
    return new SshPty(client, channel, Number(pid), files, ended)
  }
  channel.destroy()
  if (words !== undefined) throw new ExecutorError('FOLDER_INVALID', `expected a folder of the target to begin in, got ${JSON.stringify(cwd)}`)
  throw new ExecutorError('TARGET_UNREACHABLE', `no shell was begun: ${said.trim().slice(0, 200)}`)
}

/** The hangup ends the shell's jobs. If the service is gone, the watcher, which ignores Ctrl-C and hangup, ends what ignored it or left. */
function beginning (shell: readonly string[] | undefined): string {
  const environment = Object.entries(TERMINAL_ENVIRONMENT).map(([name, value]) => `${name}=${quoted(value)}`).join(' ')
  return `
if [ -n "$1" ] && ! cd -- "$1"; then printf '\\033]7717;nowhere\\007'; exit 126; fi
files=$(mktemp -d /tmp/.aps-XXXXXXXXXX) || exit 126
${markedFunction('"$files"')}
${END_MARKED}
{
  trap 'rm -rf "$files"; exit' TERM
  trap '' HUP INT QUIT TSTP
  while kill -0 $$; do sleep 1; done
  for n in 1 2 3; do [ -e "$files/${FAREWELL}" ] || sleep 1; done
  [ -e "$files/${FAREWELL}" ] || endMarked 2
  rm -rf "$files"
} </dev/null >/dev/null 2>&1 &
printf '\\033]7717;h;%s;%s\\007' $$ "$files"
export ${environment} ${MARKER}="$files"
${beginShell(shell)}
`
}

async function endOf (client: Client, channel: ClientChannel): Promise<PtyEnd> {
  return await new Promise(resolve => {
    let how: PtyEnd = { exitCode: null }
    const end = (): void => {
      client.off('close', end)
      resolve(how)
    }
    channel.once('exit', (exitCode: number | null, signal?: string) => {
      how = { exitCode, signal: exitCode === null && signal !== undefined ? `SIG${signal.replace(/^SIG/, '')}` : undefined }
      // A process that the shell left behind can keep the channel open.
      setTimeout(() => { channel.destroy() }, REST)
    })
    channel.once('close', end)
    client.once('close', end)
  })
}

class SshPty implements Pty {
  readonly ended: Promise<PtyEnd>
  /** The connection has to stay open until this settles. */
  killed: Promise<boolean> | undefined
  /** The connection has to stay open until this settles. */
  farewell: Promise<unknown> | undefined
  readonly #client: Client
  readonly #channel: ClientChannel
  readonly #session: number
  readonly #files: string
  #sftp: Promise<SFTPWrapper | undefined> | undefined
  #isOver = false

  /** @param session by which all processes of the shell are killed */
  constructor (client: Client, channel: ClientChannel, session: number, files: string, ended: Promise<PtyEnd>) {
    this.#client = client
    this.#channel = channel
    this.#session = session
    this.#files = files
    this.ended = ended
    channel.once('exit', () => { this.farewell = this.putFile(FAREWELL, '').catch(() => {}) })
    void ended.then(() => { this.#isOver = true })
  }

  write (keys: string): void {
    if (!this.#isOver) this.#channel.write(keys)
  }

  resize ({ cols, rows }: Size): void {
    if (!this.#isOver) this.#channel.setWindow(rows, cols, 0, 0)
  }

  pause (): void {
    this.#channel.pause()
  }

  resume (): void {
    this.#channel.resume()
  }

  async putFile (name: string, text: string): Promise<string> {
    const path = `${this.#files}/${name}`
    const sftp = await (this.#sftp ??= this.#openSftp())
    if (sftp === undefined) await this.#putByShell(path, text)
    else await promisify<string, string, object>(sftp.writeFile.bind(sftp))(path, text, { mode: 0o600 })
    return path
  }

  async folder (): Promise<string | undefined> {
    const sftp = this.#isOver ? undefined : await (this.#sftp ??= this.#openSftp())
    if (sftp === undefined) return undefined
    const link = `/proc/${this.#session}/cwd`
    const path = await within(ANSWER, new Promise<string | undefined>(resolve => {
      void this.ended.then(() => { resolve(undefined) })
      sftp.realpath(link, (error, path) => { resolve(error === undefined ? path : undefined) })
    }))
    // A server without this file, or one that resolves no link, gives back what it got.
    return path?.startsWith('/proc/') === true ? undefined : path
  }

  async kill (): Promise<boolean> {
    return this.#isOver ? true : await (this.killed ??= this.#kill())
  }

  async #kill (): Promise<boolean> {
    this.#channel.resume()
    const mark = `aps-${randomBytes(16).toString('hex')}`
    const script = `exec /bin/sh -c ${quoted(sessionKillScript(this.#session, this.#files))}`
    const answer = await openExecChannel(this.#client, script, channel => answerOf(channel, mark)).catch(() => undefined)
    const isDead = (await answer?.text ?? '').includes(`${mark} dead`)
    this.#channel.destroy()
    await this.ended
    return isDead
  }

  async #openSftp (): Promise<SFTPWrapper | undefined> {
    return await new Promise(resolve => {
      this.#client.sftp((error, sftp) => { resolve(error === undefined ? sftp.once('error', () => {}) : undefined) })
    })
  }

  async #putByShell (path: string, text: string): Promise<void> {
    const opened = await openExecChannel(this.#client, `exec /bin/sh -c ${quoted(`umask 077; exec cat >${quoted(path)}`)}`, channel => ({
      code: new Promise<number | null>(resolve => {
        let code: number | null = null
        channel.once('exit', (given: number | null) => { code = given }).once('close', () => { resolve(code) })
        channel.resume()
        channel.stderr.resume()
        channel.end(text)
      })
    }))
    if (await opened?.code !== 0) throw new Error(`${path} could not be written`)
  }
}
