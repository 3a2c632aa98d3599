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
export interface TalkOptions { readonly resume?: string | boolean, readonly log?: string }

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

/** Adds the option `--log`, which names the file for the detailed log, to a command. */
export function addLogOption (command: Command): Command {
  return command.option('--log <file>', 'write the detailed log there, in place of stderr')
}

/**
 * Holds a dialogue on the terminal: shows what the session says, and asks the user whenever the session waits, until the session or the input ends.
 * @throws CliError, also when the session is left with an open question
 */
export async function talk (beginning: Beginning, { options: { resume, log: file }, cli, command, readLine, agrees = false }: Talk): Promise<void> {
  const { output } = cli.open(command)
  const log = openLog(file, output)
  const dialogues = await openDialogues(beginning, cli, command, log.write)
  const lines = openLines(cli, output)
  try {
    const state = resume === undefined ? await dialogues.start() : await dialogues.find(typeof resume === 'string' ? resume : undefined)
    if (isEnded(state)) throw new CliError(EXIT.NO, `session ${state.id} has ended: ${state.status}`)
    if (output.wantsJson) await output.jsonLine({ type: 'session', data: { id: state.id } })
    else await output.words(`session ${state.id}`)
    const { url } = command.optsWithGlobals<{ readonly url?: string }>()
    const onwards = `${beginning.resume(state.id)}${url === undefined ? '' : ` --url ${url}`}`
    const session = new TerminalSession({ dialogues, lines, output, cli, readLine, writeLog: log.write, agrees })
    const left = await session.hold(state).catch((error: unknown) => {
      throw isUnreachable(error) ? new CliError(EXIT.UNREACHABLE, `${error.message}; to go on: ${onwards}`) : error
    })
    if (left === undefined || cli.signal.aborted) return
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

/** Whether an error means that the service does not answer. The session itself may go on then. */
function isUnreachable (error: unknown): error is CliError {
  return error instanceof CliError && error.exitCode === EXIT.UNREACHABLE
}

function isEnded ({ status }: DialogueState): boolean {
  return ENDED.has(status as Status)
}

async function openDialogues (beginning: Beginning, cli: Cli, command: Command, writeLog: WriteLog): Promise<Dialogues> {
  if (cli.hasAddress(command)) return remoteDialogues(beginning, cli.open(command).api)
  const { openLocalDialogues } = await import('./local-dialogues.ts')
  return await openLocalDialogues(beginning, cli, logInto(writeLog))
}

/** The log of a service in this process: its warnings and errors go into the detailed log of the dialogue, all other messages are dropped. */
function logInto (writeLog: WriteLog): Log {
  const write = (level: string) => (fields: object, message: string): void => { void writeLog(`${level} ${message} ${JSON.stringify(fields)}`) }
  return { debug () {}, info () {}, warn: write('warning'), error: write('error') }
}

function openLog (file: string | undefined, output: Output): { readonly write: WriteLog, close (): void } {
  if (file === undefined) return { write: line => output.words(line), close () {} }
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
