import { randomBytes } from 'node:crypto'
import { revealHidden } from '../../base/text.ts'
import { Clip } from '../captured-output.ts'
import { ExecutorError, KEPT, type Pty } from '../executor.ts'
import { COMMAND_FILE, commandFile, NOTHING, PROMPT_FILE, RESTORE_PROMPT, runLine } from '../scripts.ts'
import type { Prompt, ShellState } from './terminal-state.ts'

/** Options for running a command in a terminal. */
export interface ShellRunOptions {
  /** The time limit of the command, in ms, from its beginning. In the first 10 minutes, each key that a person types restarts the time. */
  readonly timeout: number
  /** When this signal aborts, a running command is ended, and a command that still waits for an empty input line is not run. */
  readonly signal: AbortSignal
  /** The most bytes that are kept of the command's output: of its beginning and its end together. @default 1 MiB */
  readonly keep?: number
  readonly onOutput?: (text: string) => void
  /** Called once, when the command has to wait until the terminal's input line is empty. */
  readonly onWait?: () => void
  /** Tells whether the command is allowed to begin in this folder, `''` for one that nobody knows. @default it is allowed in any folder */
  readonly mayBeginIn?: (folder: string) => boolean
}

/** How a command in a terminal ended. */
export interface ShellRan {
  /** `lost`: the terminal was lost after the command had been typed, and nobody knows whether the command still runs. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  readonly exitCode: number | null
  /** The command's output, with standard error: a terminal has one stream only. */
  readonly stdout: string
  /** The folder in which the command began; `cwd` is the folder in which the command ended. Both are `''` where nobody knows them. */
  readonly begunIn: string
  readonly cwd: string
  readonly durationMs: number
}

/** For how long, in ms after the start of a command, a typed key restarts the command's time limit. */
const MOST_TIME = 600_000

/** Matches the escape sequences that only style text: colours, the erasures that grep prints beside them, and bracketed paste on and off. */
// eslint-disable-next-line no-control-regex
const STYLES = /\x1b\[(?:[\d;:]*m|K|\?2004[hl])/g

/** Matches an incomplete escape sequence or line end at the end of a part of the output. The rest can come in the next part. */
// eslint-disable-next-line no-control-regex
const HALF = /(?:\x1b(?:\[[\d;:?]{0,32})?|\r)$/

/** One command of a skill in a terminal, from the moment when its line is typed. */
export class ShellCommand {
  readonly text: string
  /** The random id in the command's begin mark (the escape sequence by which the shell tells that the command begins). */
  readonly id: string
  /** The output before the command began: the terminal's echo of the line that was typed to run the command. */
  echo = ''
  hasBegun = false
  /** Whether the shell has shown a prompt after the line was typed, although the shell has not reported that the command began. */
  isPassed = false
  readonly #options: ShellRunOptions
  readonly #folder: string
  readonly #clip: Clip
  /** The end of the output so far, if it is perhaps an incomplete escape sequence or line end. It is kept until the next part of the output comes. */
  #half = ''
  readonly #since = performance.now()
  readonly #settle: (ran: ShellRan) => void
  /** Resolves when the command has ended. */
  readonly ended: Promise<ShellRan>
  /** The reason why the service ends the command; `undefined` as long as nothing ends it. */
  #cause: 'timeout' | 'cancelled' | undefined
  #timer: NodeJS.Timeout | undefined
  #isFinished = false

  /** @param folder folder in which the command begins */
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

  /** Records that the shell has begun to run the command. @param onEnd called when the time limit is reached, or the signal aborts */
  begin (onEnd: () => void): void {
    this.hasBegun = true
    const end = (cause: 'timeout' | 'cancelled'): void => {
      if (this.#cause !== undefined || this.#isFinished) return
      this.#cause = cause
      onEnd()
    }
    this.#timer = setTimeout(() => { end('timeout') }, this.#options.timeout)
    const { signal } = this.#options
    const cancel = (): void => { end('cancelled') }
    signal.addEventListener('abort', cancel, { once: true })
    void this.ended.then(() => {
      clearTimeout(this.#timer)
      signal.removeEventListener('abort', cancel)
    })
    if (signal.aborted) cancel()
  }

  /** Restarts the time limit, because a person has typed something, such as a password or an answer. */
  renew (): void {
    if (this.#cause === undefined && performance.now() - this.#since < MOST_TIME) this.#timer?.refresh()
  }

  /** Adds a part of the output to the result, without the escape sequences for styles: these are useful only on a screen. */
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

  /** Ends the command, because the prompt after it has come. @param cwd gives the folder in which it ended; never rejects */
  finish (exitCode: number, cwd: Promise<string>): void {
    if (this.#isFinished) return
    this.#isFinished = true
    clearTimeout(this.#timer)
    this.#flush()
    void cwd.then(folder => { this.#end(this.#cause ?? 'exited', this.#cause === undefined ? exitCode : null, folder) })
  }

  /** Ends the command, because the shell has ended. @param exitCode exit code of the shell @param isConfirmed whether no process of the shell runs any more */
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

/** A bell: `ring` wakes all callers that wait in `rung`. */
export class Bell {
  readonly #wakes = new Set<() => void>()

  ring (): void {
    for (const wake of this.#wakes) wake()
  }

  /** Resolves when the bell rings, when the time is over, or when the signal aborts. @param most the longest wait, in ms */
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

/** The longest time, in ms, that a command waits until the shell's input line is empty. */
const PATIENCE = 600_000

/** The longest wait, in ms, for the begin mark (the shell's report that it runs a typed command). If another program reads the line, no mark comes. */
const BEGIN = 5000

/** The longest wait, in ms, for the report that a command begins, when a prompt has come already: then the report comes at once or never. */
const SOON = 500

/** The most times that one command is typed. It is typed again if another program has read its line. */
const TRIES = 3

/** The longest time, in ms, that a command can take to end after Ctrl-C. After that time the whole terminal is ended. */
const GRACE = 2000

/** The most output, in UTF-16 units, that is kept from the time before a typed command begins: the echo of the typed line. */
const MAX_ECHO = 64 * 1024

export interface TypedCommandsOptions {
  readonly pty: Pty
  readonly shell: ShellState
  /** Wakes the commands that wait, when the shell's state has changed, or when no other command is being typed any more. */
  readonly bell: Bell
  /** The longest time, in ms, that a command waits until the shell's input line is empty. @default 10 min */
  readonly patience?: number
  /** Asks for the folder in which the shell is now, `''` where nobody knows it. Never fails. */
  readonly lookUpFolder: () => Promise<string>
  /** Shows a text to readers of the terminal. */
  readonly show: (text: string) => void
  /** Called when no command is being typed or runs any more. */
  readonly onFree: () => void
  /** Called when a command has not ended after Ctrl-C. Only the end of the whole terminal can end it then. */
  readonly onStuck: () => Promise<void>
}

/**
 * Runs the commands of skills in one shell, one at a time. A command is typed when the shell's input line is empty. Marks (escape sequences
 * that the shell prints) show where the command's output begins and ends.
 */
export class TypedCommands {
  readonly #options: TypedCommandsOptions
  /** The command whose line has been typed last, until it has ended. */
  #command: ShellCommand | undefined
  #isTaken = false

  constructor (options: TypedCommandsOptions) {
    this.#options = options
  }

  /** Whether a command is about to be typed, or runs. */
  get isTaken (): boolean {
    return this.#isTaken
  }

  /** Runs a command as soon as the shell's input line is empty. @throws ExecutorError when nothing was run: TERMINAL_BUSY, TERMINAL_GONE, TERMINAL_MOVED */
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

  /** Handles the shell's report of a prompt: a command that had begun has ended now. */
  prompted (prompt: Prompt): void {
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

  /** Handles the report that a command begins. @param id the random id in the report; another id is ignored, since any program can print such a report */
  begun (id: string): void {
    const command = this.#command
    if (command === undefined || command.hasBegun || command.id !== id) return
    command.begin(() => { void this.#interrupt(command) })
    // Readers see the command itself, in place of the line that was typed to run it.
    this.#options.show(`${revealHidden(command.text).replaceAll('\n', '\r\n')}\r\n`)
    this.#options.bell.ring()
  }

  /** Keeps output that comes before the shell reports that a typed command begins: the echo of the typed line. @returns whether the output was kept */
  tookEcho (text: string): boolean {
    const command = this.#command
    if (command?.hasBegun !== false) return false
    command.echo = (command.echo + text).slice(-MAX_ECHO)
    return true
  }

  /** Adds a part of the terminal's output to the result of the running command. */
  output (text: string): void {
    this.#command?.output(text)
  }

  /** Restarts the timeout of the running command, because a person has typed. */
  renew (): void {
    this.#command?.renew()
  }

  /** Ends the running command, because the shell has ended. @param exitCode of the shell @param isConfirmed whether no process of the shell runs any more */
  shellEnded (exitCode: number | null, isConfirmed: boolean): void {
    this.#command?.shellEnded(exitCode, isConfirmed)
  }

  /** Types a command at an empty prompt, and waits for its end. @returns `undefined` if the command did not begin; then it can be typed again */
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

  /**
   * Waits until a typed command begins, or the shell ends.
   * @param most the longest wait, in ms; if a prompt has come since the command was typed, the wait is shorter
   * @returns whether the command has begun, or the shell has ended
   */
  async #begins (command: ShellCommand, most: number): Promise<boolean> {
    const { shell, bell } = this.#options
    const since = performance.now()
    const rest = (): number => (command.isPassed ? Math.min(most, SOON) : most) - (performance.now() - since)
    while (!command.hasBegun && shell.state !== 'closed' && rest() > 0) await bell.rung(rest())
    return command.hasBegun || shell.state === 'closed'
  }

  /**
   * Withdraws a command whose line the shell has not read in time. If the shell reads the line later, the line does nothing. @returns
   * whether the command was withdrawn; false if it has begun after all
   */
  async #takeBack (command: ShellCommand): Promise<boolean> {
    await this.#put(COMMAND_FILE, NOTHING)
    if (await this.#begins(command, SOON)) return false
    this.#command = undefined
    this.#options.shell.misread(command.isPassed)
    this.#options.show(command.echo)
    return true
  }

  /** Ends a running command by Ctrl-C. If the command has not ended after `GRACE` ms, ends the whole terminal. */
  async #interrupt (command: ShellCommand): Promise<void> {
    const { pty, onStuck } = this.#options
    pty.write('\x03')
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<true>(resolve => { timer = setTimeout(() => { resolve(true) }, GRACE) })
    const isLate = await Promise.race([late, command.ended.then(() => false)])
    clearTimeout(timer)
    if (isLate) await onStuck()
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
