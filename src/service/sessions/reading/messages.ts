import { type Json, isJsonObject, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { eventsOf, type SessionEvent, timeOf } from '../../../session/events.ts'
import { type Fact, type Transition } from '../../../session/model.ts'

/** What somebody said in a session, whatever its kind, in the order of its events. */
export interface Message {
  /** Its place, as that of the event it is made of. */
  readonly seq: number
  readonly n: number
  readonly at: string
  /** The token of who said it; empty for a model, a tool, and the service. */
  readonly by: string
  readonly role: 'user' | 'assistant' | 'tool' | 'service'
  readonly text: string
  /** What the model called. */
  readonly tool?: string
  readonly command?: string
  /** What a tool gave, or a command printed. */
  readonly output?: string
}

/** Where a page begins: behind this message. */
export interface Place {
  readonly seq: number
  readonly n: number
}

export interface MessagePage {
  readonly messages: readonly Message[]
  /** Where the next page begins, if there is more. */
  readonly next?: string
}

/** A text is cut at this length, in UTF-16 units: both streams of a command have room. */
const MAX_TEXT = 160 * 1024

/** A page ends with the message that goes beyond, in UTF-16 units. */
const MAX_PAGE = 1024 * 1024

/** How many paths of a change are named. */
const MAX_PATHS = 20

/**
 * Reads what was said, from a place on.
 * @param log transitions from that of the place on
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

/** The end of a dialogue. */
export interface LastMessages {
  readonly messages: readonly Message[]
  /** Whether more was said before. */
  readonly hasEarlier: boolean
}

/** So many transitions are read for each message that is wanted; four times as many whenever these say too little. */
const [FOR_EACH, FURTHER] = [2, 4]

/**
 * Reads what was said last, from near the end of a log on: the beginning of a long one is read by nobody.
 * @param read gives the transitions behind a number
 * @param seq how many transitions there are
 * @param limit how many messages at most; fewer where they are longer than a page
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

/** The last of them that fit a page. */
function endOf (all: readonly Message[], limit: number): readonly Message[] {
  let [from, size] = [all.length, 0]
  for (const message of all.slice(-limit).reverse()) {
    size += sizeOf(message)
    if (size > MAX_PAGE && from < all.length) break
    from--
  }
  return all.slice(from)
}

/** In UTF-16 units. */
function sizeOf ({ text, output = '' }: Message): number {
  return text.length + output.length
}

/** What a transition says of the dialogue. */
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

/** @param said what is told as a message, too: free agents show it as a line beside */
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

/** The result of a command that a client has run is told with that command. */
function inputOf ({ by, text, action }: JsonObject): Part | undefined {
  if (action === 'command_result') return undefined
  return { role: 'user', by: textOf(by), text: textOf(text) || (action === undefined ? '' : `/${textOf(action)}`) }
}

function commandOf (data: JsonObject, fact: Fact): Part {
  const { phase, command, check, passed, output } = data
  if (phase === 'proposed') return { role: 'assistant', text: '', command: textOf(command) }
  if (check !== undefined) return { role: 'tool', text: passed === true ? 'passed' : 'failed', tool: textOf(check), output: textOf(output) || printedBy(fact) }
  return { role: 'tool', text: '', command: textOf(command), output: printedBy(fact) }
}

function toolOf (data: JsonObject, fact: Fact): Part {
  const { name, tool, outcome, message } = data
  const output = fact.kind === 'result' && outcome === 'ok' ? { output: typeof fact.result === 'string' ? fact.result : stringifyJson(fact.result) } : {}
  return { role: 'tool', text: [textOf(outcome), textOf(message)].filter(text => text !== '').join(': '), tool: textOf(name) || textOf(tool), ...output }
}

/** What a command printed, as its executor, or the client that ran it, gave it. */
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
