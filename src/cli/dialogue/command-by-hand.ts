import { realpath } from 'node:fs/promises'
import { chooseCommand, type CommandChoice } from '../choose-command.ts'
import { type Cli } from '../cli.ts'
import { type CommandsHere } from '../commands-here.ts'
import { type Lines } from '../lines.ts'
import { type Output } from '../output.ts'
import { type Said } from './dialogue.ts'
import { type EventPrinter } from './event-printer.ts'
import { showEdited } from './show-event.ts'

export interface CommandByHandOptions {
  readonly cli: Cli
  readonly lines: Lines
  readonly output: Output
  readonly printer: EventPrinter
}

/** Handles commands that a session proposes but does not run: the user runs each of them on this machine, or elsewhere, and pastes its output. */
export class CommandByHand {
  readonly #options: CommandByHandOptions
  #here: CommandsHere | undefined

  constructor (options: CommandByHandOptions) {
    this.#options = options
  }

  /**
   * Asks the user what to do with a command, and does it. If that fails, asks again.
   * @returns the answer for the session; `undefined` when nobody answers, and when the user has interrupted the command
   */
  async ask (command: string): Promise<Said | undefined> {
    for (;;) {
      const choice = await chooseCommand(command, 'run it here?', ['run', 'edit', 'skip', 'cancel', 'paste'], this.#options)
      if (choice === undefined) return undefined
      const said = await this.#carryOut(choice, command)
      if (said !== undefined) return said === 'interrupted' ? undefined : said
    }
  }

  /** Closes the runner of commands on this machine, if any command ran here. */
  async close (): Promise<void> {
    await this.#here?.close()
  }

  /**
   * Carries out the user's choice about a command.
   * @returns the answer for the session; `interrupted` if the user has interrupted the command; `undefined` if the choice could not be
   * carried out
   */
  async #carryOut (choice: CommandChoice, proposed: string): Promise<Said | 'interrupted' | undefined> {
    switch (choice.kind) {
      case 'cancel': return 'cancel'
      case 'skip': return { action: { name: 'skip', data: {} } }
      case 'paste': return await this.#readResult()
      case 'run': return await this.#runHere(choice.command, proposed)
    }
  }

  async #runHere (command: string, proposed: string): Promise<Said | 'interrupted' | undefined> {
    const { cli, output, printer } = this.#options
    const { CommandsHere } = await import('../commands-here.ts')
    this.#here ??= new CommandsHere(await realpath('.'), cli)
    if (command !== proposed && !output.wantsJson) await showEdited(command, output)
    try {
      const result = await this.#here.run(command, text => { void printer.print(text) })
      return result === undefined ? 'interrupted' : { action: { name: 'command_result', data: result } }
    } catch (error) {
      await output.words((error as Error).message)
      return undefined
    }
  }

  async #readResult (): Promise<Said | undefined> {
    const { lines, output } = this.#options
    await output.words('what it printed, and a line with a dot alone:')
    const printed: string[] = []
    for (let line = await lines.next(''); line !== '.'; line = await lines.next('')) {
      if (line === undefined) return undefined
      printed.push(line)
    }
    const exitCode = Number(await lines.next('exit code, 0 without one: '))
    return { action: { name: 'command_result', data: { stdout: printed.join('\n'), stderr: '', exitCode: Number.isInteger(exitCode) ? exitCode : 1 } } }
  }
}
