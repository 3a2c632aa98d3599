import { randomBytes } from 'node:crypto'
import { revealHidden } from '../../base/text.ts'
import { Clip } from '../captured-output.ts'
import { ExecutorError, KEPT, type Pty, stopAfter, within } from '../executor.ts'
import { COMMAND_FILE, commandFile, NOTHING, PROMPT_FILE, RESTORE_PROMPT, runLine } from '../scripts.ts'
import type { ShellPrompt, ShellState } from './terminal-state.ts'

export interface ShellRunOptions {
  /** In ms. In the first 10 minutes, each key that a person types restarts the time. */
  readonly timeout: number
  /** A command that still waits for an empty input line is not run. */
  readonly signal: AbortSignal
  /** In bytes. @default 1 MiB */
  readonly keep?: number
  readonly onOutput?: (text: string) => void
  /** Called once. */
  readonly onWait?: () => void
  /** `''` for a folder that nobody knows. @default it is allowed in any folder */
  readonly mayBeginIn?: (folder: string) => boolean
}

export interface ShellRan {
  /** `lost`: nobody knows whether the typed command still runs. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  readonly exitCode: number | null
  /** With standard error: a terminal has one stream only. */
  readonly stdout: string
  /** `''` where nobody knows it. */
  readonly begunIn: string
  readonly cwd: string
  readonly durationMs: number
}

/** In ms, for which a typed key restarts the time limit. */
const MOST_TIME = 600_000

// eslint-disable-next-line no-control-regex
const STYLES = /\x1b\[(?:[\d;:]*m|K|\?2004[hl])/g

/** The rest can come in the next part of the output. */
// eslint-disable-next-line no-control-regex
const HALF = /(?:\x1b(?:\[[\d;:?]{0,32})?|\r)$/

export class ShellCommand {
  readonly text: string
  readonly id: string
  echo = ''
  hasBegun = false
  /** A prompt came, although the shell has not reported that the command began. */
  isPassed = false
  readonly #options: ShellRunOptions
  readonly #folder: string
  readonly #clip: Clip
  #half = ''
  readonly #since = performance.now()
  readonly #settle: (ran: ShellRan) => void
  readonly ended: Promise<ShellRan>
  #cause: 'timeout' | 'cancelled' | undefined
  #stopping: ReturnType<typeof stopAfter> | undefined
  #isFinished = false

  constructor (text: string, id: string, folder: string, options: ShellRunOptions) {
    this.text = text
    this.id = id
    this.#folder = folder
    this.#options = options
    this.#clip = new Clip(options.keep ?? KEPT)
    let settle = (_ran: ShellRan): void => {}
    this.ended = new Promise(resolve => { settle = resolve })
    this.#settle = settle
  }

  begin (onEnd: () => void): void {
    this.hasBegun = true
    const { timeout, signal } = this.#options
    this.#stopping = stopAfter(timeout, signal, cause => {
      this.#cause = cause
      onEnd()
    })
    void this.ended.then(() => { this.#stopping?.clear() })
  }

  /** A person has typed something, such as a password or an answer. */
  renew (): void {
    if (this.#cause === undefined && performance.now() - this.#since < MOST_TIME) this.#stopping?.refresh()
  }

  output (text: string): void {
    const all = this.#half + text
    this.#half = HALF.exec(all)?.[0] ?? ''
    this.#add(all.slice(0, all.length - this.#half.length))
  }

  #flush (): void {
    this.#add(this.#half)
    this.#half = ''
  }

  #add (text: string): void {
    const plain = text.replace(STYLES, '').replaceAll('\r\n', '\n')
    if (plain === '') return
    this.#clip.append(Buffer.from(plain))
    this.#options.onOutput?.(plain)
  }

  /** `cwd` never rejects. */
  finish (exitCode: number, cwd: Promise<string>): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.#stopping?.clear()
    this.#flush()
    void cwd.then(folder => { this.#end(this.#cause ?? 'exited', this.#cause === undefined ? exitCode : null, folder) })
  }

  shellEnded (exitCode: number | null, isConfirmed: boolean): void {
    if (this.#isFinished) return
    if (this.#cause !== undefined) this.#end(isConfirmed ? this.#cause : 'lost', null)
    else this.#end(exitCode === null ? 'lost' : 'exited', exitCode)
  }

  #end (outcome: ShellRan['outcome'], exitCode: number | null, cwd = this.#folder): void {
    this.#flush()
    const stdout = this.#clip.text()
    this.#settle({ outcome, exitCode, stdout, begunIn: this.#folder, cwd, durationMs: Math.round(performance.now() - this.#since) })
  }
}

export class Bell {
  readonly #wakes = new Set<() => void>()

  ring (): void {
    for (const wake of this.#wakes) wake()
  }

  /** `most` is in ms. */
  async rung (most: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return
    await new Promise<void>(resolve => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#wakes.delete(wake)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, most)
      this.#wakes.add(wake)
      signal?.addEventListener('abort', wake)
    })
  }
}

/** In ms. */
const PATIENCE = 600_000

/** In ms. If another program reads the line, no mark comes. */
const BEGIN = 5000

/** In ms. When a prompt has come already, the report comes at once or never. */
const SOON = 500

/** How often a command is typed: a program in the foreground may have read the line in place of the shell. */
const TRIES = 3

/** In ms after Ctrl-C; then the whole terminal is ended. */
const GRACE = 2000

/** In UTF-16 units. */
const MAX_ECHO = 64 * 1024

interface TypedCommandsOptions {
  readonly pty: Pty
  readonly shell: ShellState
  readonly bell: Bell
  /** In ms, until the input line is empty. @default 10 min */
  readonly patience?: number
  /** `''` where nobody knows it. Never fails. */
  readonly lookUpFolder: () => Promise<string>
  readonly show: (text: string) => void
  readonly onFree: () => void
  /** Only the end of the whole terminal can end the command then. */
  readonly onStuck: () => Promise<void>
}

/** Runs the commands of skills in one shell, one at a time, each typed when the shell's input line is empty. */
export class TypedCommands {
  readonly #options: TypedCommandsOptions
  #command: ShellCommand | undefined
  #isTaken = false

  constructor (options: TypedCommandsOptions) {
    this.#options = options
  }

  get isTaken (): boolean {
    return this.#isTaken
  }

  /** @throws ExecutorError when nothing was run: TERMINAL_BUSY, TERMINAL_GONE, TERMINAL_MOVED */
  async run (text: string, options: ShellRunOptions): Promise<ShellRan> {
    const { shell, bell, lookUpFolder, patience = PATIENCE } = this.#options
    const until = performance.now() + patience
    let wasTold = false
    let tries = 0
    for (;;) {
      if (shell.state === 'closed') throw gone()
      if (options.signal.aborted) {
        const folder = await lookUpFolder()
        return { outcome: 'cancelled', exitCode: null, stdout: '', begunIn: folder, cwd: folder, durationMs: 0 }
      }
      if (shell.state === 'prompt' && !this.#isTaken) {
        if (tries++ === TRIES) throw new ExecutorError('TARGET_UNREACHABLE', 'the shell does not read the command')
        const ran = await this.#attempt(text, options)
        if (ran !== undefined) return ran
      } else {
        const rest = until - performance.now()
        if (rest <= 0) throw new ExecutorError('TERMINAL_BUSY', 'the line of the terminal was not empty for too long, and nothing was run')
        if (!wasTold && !this.#isTaken) {
          wasTold = true
          options.onWait?.()
        }
        await bell.rung(rest, options.signal)
      }
    }
  }

  prompted (prompt: ShellPrompt): void {
    const { shell, bell, lookUpFolder } = this.#options
    const command = this.#command
    if (command === undefined || command.hasBegun) {
      if (!shell.mark(prompt)) return
      const folder = lookUpFolder()
      command?.finish(prompt.status, folder)
    } else if (shell.passed(prompt)) {
      command.isPassed = true
      bell.ring()
    }
  }

  /** Another id is ignored, since any program can print such a report. */
  begun (id: string): void {
    const command = this.#command
    if (command === undefined || command.hasBegun || command.id !== id) return
    command.begin(() => { void this.#interrupt(command) })
    this.#options.show(`${revealHidden(command.text).replaceAll('\n', '\r\n')}\r\n`)
    this.#options.bell.ring()
  }

  tookEcho (text: string): boolean {
    const command = this.#command
    if (command?.hasBegun !== false) return false
    command.echo = (command.echo + text).slice(-MAX_ECHO)
    return true
  }

  output (text: string): void {
    this.#command?.output(text)
  }

  renew (): void {
    this.#command?.renew()
  }

  shellEnded (exitCode: number | null, isConfirmed: boolean): void {
    this.#command?.shellEnded(exitCode, isConfirmed)
  }

  /** @returns `undefined` if the command did not begin; then it can be typed again */
  async #attempt (text: string, options: ShellRunOptions): Promise<ShellRan | undefined> {
    const { shell, bell, lookUpFolder, onFree } = this.#options
    this.#isTaken = true
    const { number } = shell.prompt
    const id = randomBytes(16).toString('hex')
    try {
      const line = runLine(await this.#put(COMMAND_FILE, commandFile(text, id)), await this.#put(PROMPT_FILE, RESTORE_PROMPT))
      const folder = await lookUpFolder()
      // Perhaps a person has typed something since the input line was found empty.
      if (shell.state !== 'prompt' || shell.prompt.number !== number || options.signal.aborted) return undefined
      if (options.mayBeginIn?.(folder) === false) {
        throw new ExecutorError('TERMINAL_MOVED', `the terminal is in ${folder || 'a folder that nobody knows'} by now, and nothing was run`)
      }
      return await this.#type(line, new ShellCommand(text, id, folder, options))
    } finally {
      this.#isTaken = false
      onFree()
      bell.ring()
    }
  }

  async #type (line: string, command: ShellCommand): Promise<ShellRan | undefined> {
    const { pty, shell } = this.#options
    this.#command = command
    shell.began()
    pty.write(line)
    try {
      if (!await this.#begins(command, BEGIN) && await this.#takeBack(command)) return undefined
      const ran = await command.ended
      if (!command.hasBegun && ran.outcome === 'exited') throw gone()
      return ran
    } finally {
      this.#command = undefined
    }
  }

  /** `most` is in ms; the wait is shorter once a prompt has come. */
  async #begins (command: ShellCommand, most: number): Promise<boolean> {
    const { shell, bell } = this.#options
    const since = performance.now()
    const rest = (): number => (command.isPassed ? Math.min(most, SOON) : most) - (performance.now() - since)
    while (!command.hasBegun && shell.state !== 'closed' && rest() > 0) await bell.rung(rest())
    return command.hasBegun || shell.state === 'closed'
  }

  /** If the shell reads the line later, it does nothing. @returns false if the command has begun after all */
  async #takeBack (command: ShellCommand): Promise<boolean> {
    await this.#put(COMMAND_FILE, NOTHING)
    if (await this.#begins(command, SOON)) return false
    this.#command = undefined
    this.#options.shell.misread(command.isPassed)
    this.#options.show(command.echo)
    return true
  }

  async #interrupt (command: ShellCommand): Promise<void> {
    const { pty, onStuck } = this.#options
    pty.write('\x03')
    if (await within(GRACE, command.ended) === undefined) await onStuck()
  }

  async #put (name: string, text: string): Promise<string> {
    try {
      return await this.#options.pty.putFile(name, text)
    } catch (error) {
      throw new ExecutorError('TARGET_UNREACHABLE', `the command could not be handed to the shell: ${(error as Error).message}`)
    }
  }
}

function gone (): ExecutorError {
  return new ExecutorError('TERMINAL_GONE', 'the terminal has ended, and nothing was run')
}
