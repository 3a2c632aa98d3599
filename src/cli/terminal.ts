import { once } from 'node:events'
import { type IncomingMessage } from 'node:http'
import { type Readable } from 'node:stream'
import { type Command } from 'commander'
import { type WebSocket } from 'ws'
import { type Json, type JsonObject, objectOf, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { USUAL_SIZE } from '../exec/executor.ts'
import { type ApiClient } from './api-client.ts'
import { type Cli } from './context.ts'
import { CliError, EXIT, type Output, usageError } from './output.ts'
import { SequenceFilter, TerminalModes } from '../exec/terminal/sequences.ts'

/** Ctrl-], as in telnet. */
const LEAVE = '\x1d'

/** Ctrl-D. */
const END = '\x04'

const READING = ['prompt', 'typing']

/** Tries to attach, and the pause in ms; a try fails at a process that does not hold the terminal. */
const [TRIES, PAUSE] = [20, 500]

export function addTerminalCommand (program: Command, cli: Cli): void {
  program.command('terminal').description('type into a shell on a target; Ctrl-] leaves it, and it stays open for half an hour')
    .argument('[target]', 'where the shell runs, as the operator\'s file names it')
    .option('--attach <id>', 'go back to a terminal that is open')
    .action(async (target: string | undefined, { attach }: { readonly attach?: string }, command: Command) => {
      if ((target === undefined) === (attach === undefined)) throw usageError('expected a target, or --attach with the id of a terminal')
      const { api, output } = cli.open(command)
      const first: JsonObject = attach === undefined ? { type: 'terminal_open', target: target ?? '' } : { type: 'terminal_attach', terminalId: attach }
      await sitAt(first, { api, output, stdin: cli.stdin })
    })
}

interface Seat {
  readonly api: ApiClient
  readonly output: Output
  readonly stdin: Readable & { readonly isTTY?: boolean, setRawMode? (isRaw: boolean): void }
}

/**
 * Connects the user with a terminal of the service until the terminal ends or the user leaves: sends the user's keys to it, and prints its
 * output to stdout.
 * @throws CliError
 */
async function sitAt (first: JsonObject, { api, output, stdin }: Seat): Promise<void> {
  const socket = await opened(api)
  const ended = once(socket, 'close')
  const send = (frame: JsonObject): void => { socket.send(stringifyJson(frame)) }
  const tell = (): JsonObject => ({ ...USUAL_SIZE, ...output.size })
  let id = ''
  let tries = 0
  let failure: CliError | undefined
  let reason: string | undefined
  let stopTyping = (): void => {}
  let hasInputEnded = false
  // Not relied on: what the user's own terminal answered would be typed into the shell.
  const filter = new SequenceFilter()
  const modes = new TerminalModes()
  const type = (keys: string): void => { if (keys === LEAVE) socket.close(); else send({ type: 'data', data: keys }) }
  const show = (text: string): void => {
    modes.see(text)
    void output.raw(text)
  }
  /** Without a terminal, the end of stdin also ends the shell, as in a script. */
  const endShell = (): void => {
    hasInputEnded = true
    type(END)
  }
  socket.on('message', (data: Buffer) => {
    const frame = objectOf(parseJson(data.toString()))
    switch (frame['type']) {
      case 'data':
        show(filter.read(textOf(frame['data'])))
        break
      case 'terminal':
        if (id === '') stopTyping = pass(stdin, type, endShell)
        id = textOf(frame['terminalId'])
        // A busy shell may never get `END`: a program can read it, or leave line mode. So it is typed at each prompt.
        if (hasInputEnded && READING.includes(textOf(frame['state']))) type(END)
        break
      case 'close':
        reason = textOf(frame['reason'])
        return socket.close()
      case 'error':
        if (frame['code'] === 'TERMINAL_ELSEWHERE' && ++tries < TRIES) setTimeout(() => { send({ ...first, ...tell() }) }, PAUSE)
        else if (id === '') {
          failure = refusedAs(frame)
          socket.close()
        }
    }
  })
  const stopResizes = output.onResize(() => { if (id !== '') send({ type: 'resize', ...tell() }) })
  send({ ...first, ...tell() })
  try {
    await ended
  } finally {
    stopResizes()
    stopTyping()
    // A program that runs on may have taken the screen and the mouse; the user's shell gets them back.
    await output.raw(modes.text(true))
  }
  if (failure !== undefined) throw failure
  if (id === '') throw new CliError(EXIT.UNREACHABLE, `${api.url} has closed the connection`)
  await output.words(reason === undefined ? `\nleft; to come back: aps terminal --attach ${id}` : `\n${reason}`)
}

async function opened (api: ApiClient): Promise<WebSocket> {
  const socket = await api.socket('/ws')
  let reply: IncomingMessage | undefined
  socket.once('unexpected-response', (_request, response: IncomingMessage) => {
    reply = response
    socket.emit('error', new Error('it was refused'))
  })
  try {
    await once(socket, 'open')
  } catch (error) {
    throw await api.refusal(error as Error, reply)
  }
  socket.on('error', () => {})
  return socket
}

/** Without waiting for the end of a line. @returns stops the sending */
function pass (stdin: Seat['stdin'], type: (keys: string) => void, onEnd: () => void): () => void {
  const decoder = new TextDecoder()
  let lastTyped = '\n'
  const read = (bytes: Buffer): void => {
    const text = decoder.decode(bytes, { stream: true })
    const at = text.indexOf(LEAVE)
    if (at !== 0 && text !== '') type(at < 0 ? text : text.slice(0, at))
    if (at >= 0) type(LEAVE)
    lastTyped = text.at(-1) ?? lastTyped
  }
  const end = (): void => {
    // As in a script, the last line also runs without a line break.
    if (lastTyped !== '\n' && lastTyped !== '\r') type('\r')
    onEnd()
  }
  stdin.setRawMode?.(true)
  stdin.on('end', end)
  stdin.on('data', read)
  stdin.resume()
  return () => {
    stdin.off('data', read)
    stdin.off('end', end)
    stdin.setRawMode?.(false)
    stdin.pause()
  }
}

function refusedAs (frame: JsonObject): CliError {
  const { code, message, details } = frame as { readonly code?: Json, readonly message?: Json, readonly details?: Json }
  const at = textOf(objectOf(details ?? {})['at'])
  return new CliError(EXIT.NO, `${textOf(message)}${at === '' ? '' : `; --url ${at} asks it there`} (${textOf(code)})`)
}
