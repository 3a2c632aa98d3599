import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { type Command } from 'commander'
import { type Log } from '../base/log.ts'
import { type Cli } from './cli.ts'
import { type Beginning, type DialogueEvent, type Dialogues, type DialogueState, type Said, type Verdict } from './dialogue.ts'
import { CliError, EXIT, usageError } from './exit-codes.ts'
import { textOf } from './json-members.ts'
import { type Output } from './output.ts'
import { remoteDialogues } from './remote-dialogues.ts'
import { showEvent } from './show-event.ts'

/** What every dialogue on a terminal may be told. */
export interface TalkOptions { readonly resume?: string | boolean, readonly log?: string }

/** Writes one line of the detailed log. */
type WriteLog = (line: string) => void | Promise<void>

export interface Talk {
  readonly options: TalkOptions
  readonly cli: Cli
  readonly command: Command
  /** What a line of the user's means. @param asked the question or the command that it answers, if any */
  readonly readLine: (line: string, asked: DialogueEvent | undefined) => Said | Promise<Said>
  /** What the user is told before such a line. */
  readonly hint?: (asked: DialogueEvent | undefined) => string | undefined
}

/** Adds the options of dialogues to a command. */
export function addTalkOptions (command: Command): Command {
  return command
    .option('--resume [session]', 'go on with a dialogue, the last one when none is named')
    .option('--log <file>', 'write the detailed log there, in place of stderr')
}

/** Shows what a session says and asks the user whenever it waits, until it ends or the user's input does. @throws CliError */
export async function talk (beginning: Beginning, { options: { resume, log: file }, cli, command, readLine, hint }: Talk): Promise<void> {
  const { output } = cli.open(command)
  const log = openLog(file, output)
  const dialogues = await openDialogues(beginning, cli, command, log.write)
  const lines = readLines(cli, output)
  try {
    const state = resume === undefined ? await dialogues.start() : await dialogues.find(typeof resume === 'string' ? resume : undefined)
    await output.words(`session ${state.id}`)
    await converse({ dialogues, lines, output, readLine, hint, writeLog: log.write }, state)
  } finally {
    lines.close()
    await dialogues.close()
    log.close()
  }
}

interface Conversation {
  readonly dialogues: Dialogues
  readonly lines: Lines
  readonly output: Output
  readonly readLine: Talk['readLine']
  readonly hint: Talk['hint']
  readonly writeLog: WriteLog
}

async function converse (conversation: Conversation, { id, status, seq, held }: DialogueState): Promise<void> {
  const { dialogues } = conversation
  for (const event of held) {
    await show(event, conversation)
    if (!await decide(conversation, id, event)) return
  }
  let asked: DialogueEvent | undefined
  if (status === 'waiting_input' && seq > 0 && !await answer(conversation, id, asked)) return
  for await (const event of dialogues.events(id, seq)) {
    await show(event, conversation)
    if (event.type === 'ask' || event.type === 'command') asked = event
    if (waitsForPerson(event) && !await decide(conversation, id, event)) return
    if (event.type === 'state' && event.data['status'] === 'waiting_input' && !await answer(conversation, id, asked)) return
    if (event.type === 'done' && event.data['status'] === 'failed') throw new CliError(EXIT.NO, 'the dialogue has failed')
  }
}

async function show (event: DialogueEvent, { output, writeLog }: Pick<Conversation, 'output' | 'writeLog'>): Promise<void> {
  if (event.type === 'log') await writeLog(`[${textOf(event.data['prefix'])}] ${textOf(event.data['text'])}`)
  else await showEvent(event, output)
}

function waitsForPerson ({ type, data }: DialogueEvent): boolean {
  return type === 'approval' && data['rule'] !== undefined
}

/** Asks whether something may be done. @returns false when nobody answers: it waits on */
async function decide ({ dialogues, lines }: Conversation, id: string, { data }: DialogueEvent): Promise<boolean> {
  const line = await lines.next()
  if (line === undefined) return false
  await dialogues.decide(id, textOf(data['effect']), readVerdict(line, data['kind'] === 'exec'))
  return true
}

/** All but a clear yes is no. @param isCommand whether it may be another command, or the end of it all */
export function readVerdict (line: string, isCommand: boolean): Verdict {
  const [, letter = '', rest = ''] = /^\s*(\S+)\s*(.*)$/.exec(line) ?? []
  if (isCommand && /^(?:c|skill:cancel)$/i.test(letter)) return 'cancel'
  if (isCommand && /^e$/i.test(letter) && rest.trim() !== '') return { decision: 'approve', command: rest.trim() }
  return { decision: rest === '' && /^(?:y|yes|да)$/i.test(letter) ? 'approve' : 'reject' }
}

/** Sends the user's next line. @returns false when there is none: the dialogue can be gone on with */
async function answer ({ dialogues, lines, output, readLine, hint }: Conversation, id: string, asked: DialogueEvent | undefined): Promise<boolean> {
  const words = hint?.(asked)
  if (words !== undefined) await output.words(words)
  const line = await lines.next()
  if (line === undefined) return false
  // Its outcome comes with the events.
  await dialogues.say(id, await readLine(line, asked))
  return true
}

interface Lines {
  next (): Promise<string | undefined>
  close (): void
}

function readLines ({ stdin, signal }: Cli, output: Output): Lines {
  const lines = createInterface({ input: stdin, terminal: false, signal })
  const iterator = lines[Symbol.asyncIterator]()
  return {
    async next () {
      await output.prompt('> ')
      const { value, done } = await iterator.next()
      return done === true ? undefined : value
    },
    close () { lines.close() }
  }
}

async function openDialogues (beginning: Beginning, cli: Cli, command: Command, writeLog: WriteLog): Promise<Dialogues> {
  if (cli.hasAddress(command)) return remoteDialogues(beginning, cli.open(command).api)
  const { openLocalDialogues } = await import('./local-dialogues.ts')
  return await openLocalDialogues(beginning, cli.environment, logInto(writeLog))
}

/** What the service itself has to say goes among the lines of the dialogue, but for its chatter. */
function logInto (writeLog: WriteLog): Log {
  const write = (fields: object, message: string): void => { void writeLog(`${message} ${JSON.stringify(fields)}`) }
  return { debug () {}, info () {}, warn: write, error: write }
}

function openLog (file: string | undefined, output: Output): { readonly write: WriteLog, close (): void } {
  if (file === undefined) return { write: line => output.words(line), close () {} }
  const stream = createWriteStream(file, { flags: 'a' })
  let problem: Error | undefined
  stream.on('error', error => { problem = error })
  return {
    write (line) {
      if (problem !== undefined) throw usageError(`--log: ${problem.message}`)
      stream.write(`${new Date().toISOString()} ${line}\n`)
    },
    close () { stream.end() }
  }
}
