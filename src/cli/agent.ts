import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { type Command } from 'commander'
import { stringifyJson } from '../base/json.ts'
import { type Log } from '../base/log.ts'
import { type Cli } from './cli.ts'
import { type DialogueEvent, type Dialogues } from './dialogue.ts'
import { CliError, EXIT, usageError } from './exit-codes.ts'
import { textOf } from './json-members.ts'
import { type Output } from './output.ts'
import { remoteDialogues } from './remote-dialogues.ts'

interface AgentOptions { readonly resume?: string | boolean, readonly log?: string }

/** Writes one line of the detailed log. */
type WriteLog = (line: string) => void | Promise<void>

/** Adds `aps agent …`. */
export function addAgentCommand (program: Command, cli: Cli): void {
  program.command('agent').description('talk to an agent; without --url and APS_URL in this process, over STORE_DIR or REDIS_URL')
    .argument('<id>', 'the agent')
    .option('--resume [session]', 'go on with a dialogue, the last one when none is named')
    .option('--log <file>', 'write the detailed log there, in place of stderr')
    .action(async (id: string, options: AgentOptions, command: Command) => {
      const { output } = cli.open(command)
      const log = openLog(options.log, output)
      const dialogues = await openDialogues(cli, command, log.write)
      try {
        await talk({ dialogues, agent: id, options, cli, output, writeLog: log.write })
      } finally {
        await dialogues.close()
        log.close()
      }
    })
}

interface Talk {
  readonly dialogues: Dialogues
  readonly agent: string
  readonly options: AgentOptions
  readonly cli: Cli
  readonly output: Output
  readonly writeLog: WriteLog
}

/** Shows what the agent says and asks the user whenever it waits, until it ends or the user's input does. */
async function talk ({ dialogues, agent, options: { resume }, cli, output, writeLog }: Talk): Promise<void> {
  const { id, status, seq } = resume === undefined ? await dialogues.start(agent) : await dialogues.find(agent, typeof resume === 'string' ? resume : undefined)
  await output.words(`session ${id}`)
  const lines = readLines(cli, output)
  try {
    if (status === 'waiting_input' && seq > 0 && !await answer(dialogues, id, lines)) return
    for await (const event of dialogues.events(id, seq)) {
      await show(event, output, writeLog)
      if (waitsForPerson(event) && !await decide(dialogues, id, event, lines)) return
      if (event.type === 'state' && event.data['status'] === 'waiting_input' && !await answer(dialogues, id, lines)) return
      if (event.type === 'done' && event.data['status'] === 'failed') throw new CliError(EXIT.NO, 'the dialogue has failed')
    }
  } finally {
    lines.close()
  }
}

async function show ({ type, data }: DialogueEvent, output: Output, writeLog: WriteLog): Promise<void> {
  if (type === 'stdout') return await output.text(textOf(data['text']))
  if (type === 'log') return await writeLog(`[${textOf(data['prefix'])}] ${textOf(data['text'])}`)
  if (type === 'approval' && data['rule'] !== undefined) return await output.words(`${textOf(data['rule'])}: ${textOf(data['tool'])} ${stringifyJson(data['arguments'] ?? null)}; allow it? y or n`)
  if (type === 'error') await output.words(`${textOf(data['code'])}: ${textOf(data['message'])}`)
}

function waitsForPerson ({ type, data }: DialogueEvent): boolean {
  return type === 'approval' && data['rule'] !== undefined
}

/** Asks whether a call may be made; all but a clear yes is no. @returns false when nobody answers: the call waits on */
async function decide (dialogues: Dialogues, id: string, { data }: DialogueEvent, lines: Lines): Promise<boolean> {
  const line = await lines.next()
  if (line === undefined) return false
  await dialogues.decide(id, textOf(data['effect']), /^\s*(?:y|yes|да)\s*$/i.test(line))
  return true
}

/** Sends the user's next line. @returns false when there is none: the dialogue can be gone on with */
async function answer (dialogues: Dialogues, id: string, lines: Lines): Promise<boolean> {
  const line = await lines.next()
  if (line === undefined) return false
  // Its outcome comes with the events.
  await dialogues.say(id, line)
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

async function openDialogues (cli: Cli, command: Command, writeLog: WriteLog): Promise<Dialogues> {
  if (cli.hasAddress(command)) return remoteDialogues(cli.open(command).api)
  const { openLocalDialogues } = await import('./local-dialogues.ts')
  return await openLocalDialogues(cli.environment, logInto(writeLog))
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
