import { realpath } from 'node:fs/promises'
import { ownField } from '../base/json.ts'
import { revealHidden } from '../base/text.ts'
import type { LocalExecutor } from '../exec/local-executor.ts'
import type { Cli, Lines } from './context.ts'
import type { DialogueInput } from './dialogue.ts'
import { type EventPrinter, showEdited } from './event-printer.ts'
import type { Output } from './output.ts'

type CommandChoice =
  | { readonly kind: 'run', readonly command: string }
  | { readonly kind: 'skip' | 'cancel' | 'paste' }

const KEYS: Readonly<Record<string, 'run' | 'edit' | 'skip' | 'cancel' | 'paste'>> = {
  y: 'run',
  yes: 'run',
  да: 'run',
  e: 'edit',
  edit: 'edit',
  s: 'skip',
  skip: 'skip',
  n: 'skip',
  no: 'skip',
  нет: 'skip',
  'skill:skip': 'skip',
  c: 'cancel',
  cancel: 'cancel',
  'skill:cancel': 'cancel',
  p: 'paste',
  paste: 'paste'
}

const WORDS = { run: 'y (run)', edit: 'e (edit)', skip: 's (skip)', cancel: 'c (cancel)', paste: 'p (paste what it printed elsewhere)' } as const

/** Asks again until the answer is one of the offers. @returns `undefined` when the input has ended */
export async function chooseCommand (
  command: string,
  question: string,
  offers: readonly (keyof typeof WORDS)[],
  { lines, output }: { readonly lines: Lines, readonly output: Output }
): Promise<CommandChoice | undefined> {
  for (;;) {
    await output.words(`${question} ${offers.map(offer => WORDS[offer]).join(', ')}`)
    const line = await lines.next()
    if (line === undefined) return undefined
    const word = line.trim().toLowerCase()
    const kind = ownField(KEYS, word)
    if (kind === undefined || !offers.includes(kind)) continue
    if (kind === 'run') return { kind, command }
    if (kind !== 'edit') return { kind }
    const edited = await lines.next('$ ', draftOf(command))
    if (edited === undefined) return undefined
    if (edited.trim() !== '') return { kind: 'run', command: edited.trim() }
  }
}

/** Empty for a command with control characters (the editor takes them for keys) or invisible ones (the user would not see them). */
function draftOf (command: string): string {
  return revealHidden(command) === command && !/[\n\t]/.test(command) ? command : ''
}

/** In ms; long, because the user watches the command. */
const TIMEOUT = 3_600_000

/** Bytes of stdout, and as many of stderr, sent to the service; the model gets fewer. */
const TOLD = 64 * 1024

/** For a person's own machine, beside those of every skill's commands; none has a secret of a service. */
const ENVIRONMENT = ['USER', 'LOGNAME', 'TMPDIR', 'LC_ALL', 'XDG_CONFIG_HOME', 'SSH_AUTH_SOCK']

interface CommandByHandOptions {
  readonly cli: Cli
  readonly lines: Lines
  readonly output: Output
  readonly printer: EventPrinter
}

/** Shows a command, and runs it on the user's own machine if they say so; each begins in the folder in which the one before it ended. */
export class CommandByHand {
  readonly #options: CommandByHandOptions
  #executor: LocalExecutor | undefined
  #cwd: string | undefined

  constructor (options: CommandByHandOptions) {
    this.#options = options
  }

  /** Asks again after a failure. @returns `undefined` when nobody answers, or the user has interrupted the command */
  async ask (command: string): Promise<DialogueInput | undefined> {
    for (;;) {
      const choice = await chooseCommand(command, 'run it here?', ['run', 'edit', 'skip', 'cancel', 'paste'], this.#options)
      if (choice === undefined) return undefined
      const said = await this.#carryOut(choice, command)
      if (said !== undefined) return said === 'interrupted' ? undefined : said
    }
  }

  async close (): Promise<void> {
    await this.#executor?.close()
  }

  /** @returns `undefined` if the choice could not be carried out */
  async #carryOut (choice: CommandChoice, proposed: string): Promise<DialogueInput | 'interrupted' | undefined> {
    switch (choice.kind) {
      case 'cancel': return 'cancel'
      case 'skip': return { action: { name: 'skip', data: {} } }
      case 'paste': return await this.#readResult()
      case 'run': return await this.#runHere(choice.command, proposed)
    }
  }

  async #runHere (command: string, proposed: string): Promise<DialogueInput | 'interrupted' | undefined> {
    const { cli: { signal }, output, printer } = this.#options
    this.#executor ??= await this.#openExecutor()
    if (command !== proposed && !output.wantsJson) await showEdited(command, output)
    const onOutput = (_stream: string, text: string): void => { void printer.print(text) }
    try {
      const { outcome, exitCode, stdout, stderr, cwd } = await this.#executor.run(command, { cwd: this.#cwd, timeout: TIMEOUT, signal, keep: TOLD, onOutput })
      if (outcome === 'cancelled') return 'interrupted'
      this.#cwd = cwd
      return { action: { name: 'command_result', data: { stdout, stderr, exitCode: exitCode ?? 1, command } } }
    } catch (error) {
      await output.words((error as Error).message)
      return undefined
    }
  }

  async #openExecutor (): Promise<LocalExecutor> {
    const { environmentOf, LocalExecutor } = await import('../exec/local-executor.ts')
    return new LocalExecutor({
      workspace: await realpath('.'),
      sandbox: 'off',
      hasNetwork: true,
      environment: environmentOf(this.#options.cli.environment, ENVIRONMENT),
      secrets: [],
      mayRunAsRoot: true
    })
  }

  async #readResult (): Promise<DialogueInput | undefined> {
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
