import { type Json, isJsonObject, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { eventsOf, type SessionEvent, timeOf } from '../../../session/events.ts'
import { type Fact, type Transition } from '../../../session/model.ts'

/** One message of a session, whatever its kind: of the user, the model, a tool or the service itself. Messages are in the order of the session's events. */
export interface Message {
  /** The number of the transition (recorded step) from which the message comes; `n` is the index of the event in it. */
  readonly seq: number
  readonly n: number
  readonly at: string
  /** The name of the token with which the message was written; empty for a model, a tool, and the service. */
  readonly by: string
  readonly role: 'user' | 'assistant' | 'tool' | 'service'
  readonly text: string
  /** Name of the tool that the model called. */
  readonly tool?: string
  readonly command?: string
  /** The result of a tool, or the output of a command. */
  readonly output?: string
}

/** The place of a message in a session: the number of its transition (recorded step), and the index of its event in that transition. */
export interface Place {
  readonly seq: number
  readonly n: number
}

export interface MessagePage {
  readonly messages: readonly Message[]
  /** The cursor with which the next page is read; left out on the last page. */
  readonly next?: string
}

/** The length at which a text is cut, in UTF-16 units; both output streams of a command fit into it. */
const MAX_TEXT = 160 * 1024

/** The size of a page of messages, in UTF-16 units. The page ends with the message that exceeds this size. */
const MAX_PAGE = 1024 * 1024

/** The most changed files that one message names. */
const MAX_PATHS = 20

/**
 * Reads a page of a session's messages.
 * @param log the transitions, from the one that contains the message `after` on
 * @param after the place of the last message on the page before
 */
export async function readMessages (log: AsyncIterable<Transition>, after: Place, limit: number): Promise<MessagePage> {
  const messages: Message[] = []
  let size = 0
  for await (const transition of log) {
    for (const message of messagesOf(transition)) {
      if (message.seq === after.seq && message.n <= after.n) continue
      const last = messages.at(-1)
      if (last !== undefined && (messages.length >= limit || size > MAX_PAGE)) return { messages, next: `${last.seq}.${last.n}` }
      messages.push(message)
      size += sizeOf(message)
    }
  }
  return { messages }
}

/** The last messages of a session. */
export interface LastMessages {
  readonly messages: readonly Message[]
  /** Whether there are earlier messages. */
  readonly hasEarlier: boolean
}

/** The number of transitions (recorded steps) that are read at first for each wanted message, and its growth while too few messages are found. */
const [FOR_EACH, FURTHER] = [2, 4]

/**
 * Reads the last messages of a session. The log is read from near its end on, rather than from the beginning.
 * @param read gives the transitions (recorded steps) after the one with a number
 * @param seq how many transitions the log has
 * @param limit how many messages are wanted; fewer are returned if they are too long for one page
 */
export async function readLastMessages (read: (after: number) => AsyncIterable<Transition>, seq: number, limit: number): Promise<LastMessages> {
  for (let span = FOR_EACH * limit; ; span *= FURTHER) {
    const after = Math.max(0, seq - span)
    const found: Message[] = []
    for await (const transition of read(after)) found.push(...messagesOf(transition))
    if (found.length < limit && after > 0) continue
    const messages = endOf(found, limit)
    return { messages, hasEarlier: after > 0 || messages.length < found.length }
  }
}

/** The last messages that fit into one page, at most `limit` of them. */
function endOf (all: readonly Message[], limit: number): readonly Message[] {
  let [from, size] = [all.length, 0]
  for (const message of all.slice(-limit).reverse()) {
    size += sizeOf(message)
    if (size > MAX_PAGE && from < all.length) break
    from--
  }
  return all.slice(from)
}

/** The size of a message, in UTF-16 units. */
function sizeOf ({ text, output = '' }: Message): number {
  return text.length + output.length
}

/** The messages that one transition (recorded step) of a session contains. */
export function messagesOf (transition: Transition): Message[] {
  const { seq, at, fact } = transition
  const events = eventsOf(transition)
  const said = new Set(events.flatMap(({ type, data }) => type === 'message' ? [textOf(data['content'])] : []))
  return events.flatMap((event, n) => {
    const part = partOf(event, fact, said)
    if (part === undefined) return []
    const { by = '', role, text, ...more } = part
    return [{ seq, n, at: timeOf(at), by, role, text: clip(text), ...more, ...(more.output === undefined ? {} : { output: clip(more.output) }) }]
  })
}

type Part = Omit<Message, 'seq' | 'n' | 'at' | 'by'> & { readonly by?: string }

/**
 * The message that an event of a session makes, without the message's place; `undefined` if the event makes none.
 * @param said the texts of the transition's messages, which agents show a second time as lines of `stdout`
 */
function partOf ({ type, data }: SessionEvent, fact: Fact, said: ReadonlySet<string>): Part | undefined {
  switch (type) {
    case 'input': return inputOf(data)
    case 'stdout': return said.has(textOf(data['text'])) ? undefined : { role: 'service', text: textOf(data['text']) }
    case 'message': return { role: 'assistant', text: textOf(data['content']) || textOf(data['text']) }
    case 'ask': return { role: 'assistant', text: textOf(data['text']) }
    case 'error': return { role: 'service', text: textOf(data['message']) }
    case 'files': return { role: 'service', text: `${textOf(data['stage'])}: ${pathsOf(data['files'])}` }
    case 'command': return commandOf(data, fact)
    case 'tool': return data['phase'] === 'ended' ? toolOf(data, fact) : undefined
    default: return undefined
  }
}

/** The message that a user's input makes; `undefined` for the result of a command that the user ran by hand, since the message of the command contains it. */
function inputOf ({ by, text, action }: JsonObject): Part | undefined {
  if (action === 'command_result') return undefined
  return { role: 'user', by: textOf(by), text: textOf(text) || (action === undefined ? '' : `/${textOf(action)}`) }
}

function commandOf (data: JsonObject, fact: Fact): Part {
  const { phase, command, check, passed, output, reason } = data
  if (phase === 'proposed') return { role: 'assistant', text: '', command: textOf(command) }
  if (phase === 'denied') return { role: 'tool', text: textOf(reason), command: textOf(command) }
  if (check !== undefined) return { role: 'tool', text: passed === true ? 'passed' : 'failed', tool: textOf(check), output: textOf(output) || printedBy(fact) }
  return { role: 'tool', text: '', command: textOf(command), output: printedBy(fact) }
}

function toolOf (data: JsonObject, fact: Fact): Part {
  const { name, tool, outcome, message } = data
  const output = fact.kind === 'result' && outcome === 'ok' ? { output: typeof fact.result === 'string' ? fact.result : stringifyJson(fact.result) } : {}
  return { role: 'tool', text: [textOf(outcome), textOf(message)].filter(text => text !== '').join(': '), tool: textOf(name) || textOf(tool), ...output }
}

/** The output of a command, as reported by the executor or by the client that ran it. */
function printedBy (fact: Fact): string {
  const result = fact.kind === 'result' ? fact.result : fact.kind === 'input' ? fact.action?.data ?? { stdout: fact.text } : undefined
  if (result === undefined || !isJsonObject(result)) return ''
  return [textOf(result['stdout']), textOf(result['stderr'])].filter(text => text !== '').join('\n')
}

function pathsOf (files: Json | undefined): string {
  const paths = Array.isArray(files) ? (files as readonly Json[]).map(file => isJsonObject(file) ? textOf(file['path']) : textOf(file)) : []
  return `${paths.slice(0, MAX_PATHS).join(', ')}${paths.length > MAX_PATHS ? `, and ${paths.length - MAX_PATHS} more` : ''}`
}

function clip (text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…[truncated]`
}

function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
