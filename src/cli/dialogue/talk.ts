import { createWriteStream } from 'node:fs'
import { type Command } from 'commander'
import { type Log } from '../../base/log.ts'
import { revealHidden } from '../../base/text.ts'
import { ENDED, type Status } from '../../session/model.ts'
import { type Cli } from '../cli.ts'
import { TerminalSession, type TerminalSessionOptions } from './terminal-session.ts'
import { type Beginning, type Dialogues, type DialogueState } from './dialogue.ts'
import { type WriteLog } from './event-printer.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { openLines } from '../lines.ts'
import { type Output } from '../output.ts'
import { remoteDialogues } from './remote-dialogues.ts'

/** The options of commands that open a dialogue on a terminal. */
export interface TalkOptions { readonly resume?: string | boolean, readonly log?: string, readonly verbose?: boolean, readonly local?: boolean }

export interface Talk {
  readonly options: TalkOptions
  readonly cli: Cli
  readonly command: Command
  readonly readLine: TerminalSessionOptions['readLine']
  readonly agrees?: TerminalSessionOptions['agrees']
}

/** Adds the options `--resume` and `--log` to a command. */
export function addTalkOptions (command: Command): Command {
  return addLogOption(command.option('--resume [session]', 'go on with a dialogue, the last one when none is named'))
}

/** Adds the options of the detailed log, and `--local`, to a command. */
export function addLogOption (command: Command): Command {
  return addLocalOption(command).option('--log <file>', 'write the detailed log there').option('--verbose', 'print the detailed log to stderr')
}

/** Adds the option `--local`, which has a command open the service in this process, to a command. */
export function addLocalOption (command: Command): Command {
  return command.option('--local', 'ask no service, but do its work here, over STORE_DIR or REDIS_URL')
}

/**
 * Holds a dialogue on the terminal: shows what the session says, and asks the user whenever the session waits, until the session or the input ends.
 * @throws CliError, also when the session is left with an open question
 */
export async function talk (beginning: Beginning, { options, cli, command, readLine, agrees = false }: Talk): Promise<void> {
  const { resume, log: file, verbose, local: isLocal = false } = options
  const { output } = cli.open(command)
  const place = placeOptions(command, isLocal)
  const log = openLog(file, verbose === true, output)
  const dialogues = isLocal ? await openHere(beginning, cli, log.write) : remoteDialogues(beginning, cli.open(command).api)
  const lines = openLines(cli, output)
  try {
    const state = await (resume === undefined ? dialogues.start() : dialogues.find(typeof resume === 'string' ? resume : undefined)).catch((error: unknown) => {
      throw isUnreachable(error) && !isLocal ? new CliError(EXIT.UNREACHABLE, `${error.message}; --local does without one`) : error
    })
    if (isEnded(state)) throw new CliError(EXIT.NO, `session ${state.id} has ended: ${state.status}`)
    if (output.wantsJson) await output.jsonLine({ type: 'session', data: { id: state.id } })
    else await output.words(`session ${state.id}`)
    const onwards = `${beginning.resume(state.id)}${place}`
    const session = new TerminalSession({ dialogues, lines, output, cli, readLine, writeLog: log.write, hint: beginning.hint, agrees })
    const left = await session.hold(state).catch((error: unknown) => {
      if (cli.signal.aborted) return undefined
      throw isUnreachable(error) ? new CliError(EXIT.UNREACHABLE, `${error.message}; to go on: ${onwards}`) : error
    })
    if (cli.signal.aborted) return await output.words(`to go on: ${onwards}`)
    if (left === undefined) return
    if (left.status !== 'waiting_input' || !beginning.isSettled(left.word)) throw new CliError(EXIT.NO, `the session waits for an answer; to go on: ${onwards}`)
    const missed = left.missed === 1 ? '1 path is as somebody else has left it' : `${left.missed} paths are as somebody else has left them`
    if (left.missed > 0) throw new CliError(EXIT.NO, `not all was done: ${missed}; to go on: ${onwards}`)
    // A person at a terminal has read the error of the failed turn. A script sees only the exit code.
    const isRead = beginning.hasTurns === true && (cli.stdin as { readonly isTTY?: boolean }).isTTY === true
    if (left.failed !== undefined && !isRead) throw new CliError(EXIT.NO, `the last turn has failed: ${left.failed}; to go on: ${onwards}`)
    await output.words(`to go on: ${onwards}`)
  } finally {
    lines.close()
    await dialogues.close()
    log.close()
  }
}

/** The options that say where a dialogue is held, for the command line that goes on with it. @throws CliError */
function placeOptions (command: Command, isLocal: boolean): string {
  const { url, at } = command.optsWithGlobals<{ readonly url?: string, readonly at?: string }>()
  if (isLocal && (url ?? at) !== undefined) throw usageError('expected --local, or a service by --url or --at: not both')
  return isLocal ? ' --local' : `${url === undefined ? '' : ` --url ${url}`}${at === undefined ? '' : ` --at ${at}`}`
}

/** Whether an error means that the service does not answer. The session itself may go on then. */
function isUnreachable (error: unknown): error is CliError {
  return error instanceof CliError && error.exitCode === EXIT.UNREACHABLE
}

function isEnded ({ status }: DialogueState): boolean {
  return ENDED.has(status as Status)
}

async function openHere (beginning: Beginning, cli: Cli, writeLog: WriteLog): Promise<Dialogues> {
  const { openLocalDialogues } = await import('./local-dialogues.ts')
  return await openLocalDialogues(beginning, cli, logInto(writeLog))
}

/** The log of a service in this process: its warnings and errors go into the detailed log of the dialogue, all other messages are dropped. */
function logInto (writeLog: WriteLog): Log {
  const write = (level: string) => (fields: object, message: string): void => { void writeLog(`${level} ${message} ${JSON.stringify(fields)}`) }
  return { debug () {}, info () {}, warn: write('warning'), error: write('error') }
}

function openLog (file: string | undefined, isVerbose: boolean, output: Output): { readonly write: WriteLog, close (): void } {
  if (file === undefined) return { write: isVerbose ? line => output.words(line) : () => {}, close () {} }
  const stream = createWriteStream(file, { flags: 'a' })
  let problem: Error | undefined
  stream.on('error', error => { problem = error })
  return {
    write (line) {
      if (problem !== undefined) throw usageError(`--log: ${problem.message}`)
      stream.write(`${new Date().toISOString()} ${revealHidden(line)}\n`)
    },
    close () { stream.end() }
  }
}
