import { randomBytes } from 'node:crypto'
import { revealHidden } from '../../base/text.ts'
import { ExecutorError } from '../executor.ts'
import { type Pty } from '../pty.ts'
import { type Bell } from './bell.ts'
import { ShellCommand, type ShellRan, type ShellRunOptions } from './shell-command.ts'
import { COMMAND_FILE, commandFile, NOTHING, PROMPT_FILE, RESTORE_PROMPT, runLine } from './shell-lines.ts'
import { type Prompt, type ShellState } from './shell-state.ts'

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
