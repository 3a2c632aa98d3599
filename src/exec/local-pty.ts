import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, join } from 'node:path'
import type * as NodePty from '@lydell/node-pty'
import { makePrivateFolder, PRIVATE_FILE } from '../base/durable-files.ts'
import { ExecutorError, type Pty, type PtyEnd, type PtyOptions, type Size, TERMINAL_ENVIRONMENT, within } from './executor.ts'
import { beginShell, MARKER, sessionKillScript } from './scripts.ts'

/** In ms. */
const PATIENCE = 4000

export const NO_PTYS = 'this machine has none: the optional package @lydell/node-pty is not installed'

/** The package is optional, and has no build for some machines. */
export async function loadPtys (): Promise<typeof NodePty | undefined> {
  try {
    return await import('@lydell/node-pty')
  } catch {
    return undefined
  }
}

/** @param cwd a path without links @param wordsFor the program in the sandbox, where there is one @throws ExecutorError */
export async function openLocalPty (
  cwd: string,
  environment: Readonly<Record<string, string>>,
  state: string,
  wordsFor: (program: readonly string[], files: string) => Promise<{ readonly words: readonly string[], readonly isJailed: boolean, readonly files: string }>,
  { size, shell, onOutput }: PtyOptions
): Promise<Pty> {
  const ptys = await loadPtys()
  if (ptys === undefined) throw new ExecutorError('TERMINAL_UNSUPPORTED', NO_PTYS)
  // By the process id another process can tell whether the subfolder is still used.
  const own = join(state, `${process.pid}-${randomBytes(8).toString('hex')}`)
  await makePrivateFolder(own)
  await removeLeft(state)
  try {
    const { words: [program = '', ...words], isJailed, files } = await wordsFor(['/bin/sh', '-c', beginShell(shell)], own)
    const env = { ...environment, ...TERMINAL_ENVIRONMENT, [MARKER]: basename(own) }
    const pty = ptys.spawn(program, words, { name: TERMINAL_ENVIRONMENT.TERM, ...size, cwd, env, encoding: null })
    return new LocalPty(pty, own, files, isJailed, onOutput)
  } catch (error) {
    await rm(own, { recursive: true, force: true })
    throw error instanceof ExecutorError ? error : new ExecutorError('TARGET_UNREACHABLE', `no shell can be begun: ${(error as Error).message}`)
  }
}

async function removeLeft (state: string): Promise<void> {
  for (const name of await readdir(state)) {
    const [, pid] = /^(\d+)-[0-9a-f]+$/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(state, name), { recursive: true, force: true })
  }
}

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

class LocalPty implements Pty {
  readonly ended: Promise<PtyEnd>
  readonly #pty: NodePty.IPty
  readonly #own: string
  readonly #files: string
  readonly #isJailed: boolean
  /** Outside of the sandbox. */
  #shell: number | undefined
  #isOver = false

  constructor (pty: NodePty.IPty, own: string, files: string, isJailed: boolean, onOutput: PtyOptions['onOutput']) {
    this.#pty = pty
    this.#own = own
    this.#files = files
    this.#isJailed = isJailed
    // Without an encoding, node-pty passes bytes, though its type declares a string.
    pty.onData((bytes: unknown) => { onOutput(bytes as Buffer) })
    this.ended = new Promise(resolve => {
      pty.onExit(({ exitCode, signal }) => {
        this.#isOver = true
        const end = signal === undefined || signal === 0 ? { exitCode } : { exitCode: null, signal: nameOf(signal) }
        void rm(own, { recursive: true, force: true }).then(() => { resolve(end) })
      })
    })
  }

  write (keys: string): void {
    if (!this.#isOver) this.#pty.write(keys)
  }

  resize ({ cols, rows }: Size): void {
    if (!this.#isOver) this.#pty.resize(cols, rows)
  }

  pause (): void {
    this.#pty.pause()
  }

  resume (): void {
    this.#pty.resume()
  }

  async putFile (name: string, text: string): Promise<string> {
    await writeFile(join(this.#own, name), text, { mode: PRIVATE_FILE })
    return join(this.#files, name)
  }

  async folder (): Promise<string | undefined> {
    this.#shell ??= this.#isJailed ? await shellIn(this.#pty.pid) : this.#pty.pid
    return this.#isOver || this.#shell === undefined ? undefined : await readlink(`/proc/${this.#shell}/cwd`).catch(() => undefined)
  }

  async kill (): Promise<boolean> {
    if (this.#isOver) return true
    // Unread output would delay the exit event of node-pty.
    this.#pty.resume()
    if (!this.#isJailed) {
      const isDead = await killSession(this.#pty.pid, basename(this.#own))
      return await this.#isGone() && isDead
    }
    // All processes in the sandbox end with its first one, which is killed here.
    this.#pty.kill('SIGKILL')
    return await this.#isGone()
  }

  async #isGone (): Promise<boolean> {
    return await within(PATIENCE, this.ended) !== undefined
  }
}

function nameOf (signal: number): string {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `SIG${signal}`
}

/** The first process of bubblewrap in the sandbox has the number 1, and begins the shell as number 2; `outer` is outside. */
async function shellIn (outer: number): Promise<number | undefined> {
  const childrenOf = async (pid: number): Promise<number[]> =>
    (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')).split(' ').filter(each => each !== '').map(Number)
  const inner = (await Promise.all((await childrenOf(outer)).map(childrenOf))).flat()
  const own = await Promise.all(inner.map(async pid => /^NSpid:.*\t2$/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))))
  return inner.find((_, index) => own[index])
}

async function killSession (session: number, marker: string): Promise<boolean> {
  return await new Promise(resolve => {
    const script = sessionKillScript(session, marker)
    const child = execFile('/bin/sh', ['-c', script], { timeout: 2 * PATIENCE }, (_error, said) => { resolve(said.trim() === 'end dead') })
    child.stdin?.on('error', () => {}).end('end\n')
  })
}
