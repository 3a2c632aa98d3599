import { isJsonObject, type Json, type JsonObject, listOf, stringifyJson, textIn, textOf } from '../../base/json.ts'
import { eventsOf, type SessionEvent, timeOf } from '../../session/follow.ts'
import type { Fact, LogEntry } from '../../session/model.ts'

/** Of the user, the model, a tool or the service itself, in the order of the session's events. */
export interface SessionMessage {
  /** The log entry from which the message comes; `n` is the index of the event in it. */
  readonly seq: number
  readonly n: number
  readonly at: string
  /** The name of the token; empty for a model, a tool, and the service. */
  readonly by: string
  readonly role: 'user' | 'assistant' | 'tool' | 'service'
  readonly text: string
  readonly tool?: string
  readonly command?: string
  readonly output?: string
}

/** In UTF-16 units; both output streams of a command fit into it. */
const MAX_TEXT = 160 * 1024

/** In UTF-16 units; the page ends with the message that exceeds this size. */
const MAX_PAGE = 1024 * 1024

const MAX_PATHS = 20

/** `log` starts with the log entry that contains the message `after`, the last on the page before. */
export async function readMessages (
  log: AsyncIterable<LogEntry>, after: { readonly seq: number, readonly n: number }, limit: number
): Promise<{ readonly messages: readonly SessionMessage[], readonly next?: string }> {
  const messages: SessionMessage[] = []
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

/** Log entries read at first for each wanted message, and the growth while too few messages are found. */
const [FOR_EACH, FURTHER] = [2, 4]

/** Reads from near the log's end on; fewer than `limit` are returned if they are too long for one page. */
export async function readLastMessages (
  read: (after: number) => AsyncIterable<LogEntry>, seq: number, limit: number
): Promise<{ readonly messages: readonly SessionMessage[], readonly hasEarlier: boolean }> {
  for (let span = FOR_EACH * limit; ; span *= FURTHER) {
    const after = Math.max(0, seq - span)
    const found: SessionMessage[] = []
    for await (const transition of read(after)) found.push(...messagesOf(transition))
    if (found.length < limit && after > 0) continue
    const messages = endOf(found, limit)
    return { messages, hasEarlier: after > 0 || messages.length < found.length }
  }
}

function endOf (all: readonly SessionMessage[], limit: number): readonly SessionMessage[] {
  let [from, size] = [all.length, 0]
  for (const message of all.slice(-limit).reverse()) {
    size += sizeOf(message)
    if (size > MAX_PAGE && from < all.length) break
    from--
  }
  return all.slice(from)
}

/** In UTF-16 units. */
function sizeOf ({ text, output = '' }: SessionMessage): number {
  return text.length + output.length
}

export function messagesOf (transition: LogEntry): SessionMessage[] {
  const { seq, at, fact } = transition
  const events = eventsOf(transition)
  const said = new Set(events.flatMap(({ type, data }) => type === 'message' ? [textOf(data['content'])] : []))
  return events.flatMap((event, n) => {
    const part = partOf(event, fact, said)
    if (part === undefined) return []
    const { by = '', role, text, ...more } = part
    return [{ seq, n, at: timeOf(at), by, role, text: clip(text), ...more, output: more.output === undefined ? undefined : clip(more.output) }]
  })
}

type MessageContent = Omit<SessionMessage, 'seq' | 'n' | 'at' | 'by'> & { readonly by?: string }

/** `said`: the texts of the log entry's messages, which agents show a second time as lines of `stdout`. */
function partOf ({ type, data }: SessionEvent, fact: Fact, said: ReadonlySet<string>): MessageContent | undefined {
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

/** None for the result of a command run by hand: the message of the command contains it. */
function inputOf ({ by, text, action }: JsonObject): MessageContent | undefined {
  if (action === 'command_result') return undefined
  return { role: 'user', by: textOf(by), text: textOf(text) || (action === undefined ? '' : `/${textOf(action)}`) }
}

function commandOf (data: JsonObject, fact: Fact): MessageContent {
  const { phase, command, check, passed, output, reason } = data
  if (phase === 'proposed') return { role: 'assistant', text: '', command: textOf(command) }
  if (phase === 'denied') return { role: 'tool', text: textOf(reason), command: textOf(command) }
  if (check !== undefined) return { role: 'tool', text: passed === true ? 'passed' : 'failed', tool: textOf(check), output: textOf(output) || printedBy(fact) }
  return { role: 'tool', text: '', command: textOf(command), output: printedBy(fact) }
}

function toolOf (data: JsonObject, fact: Fact): MessageContent {
  const { name, tool, outcome, message } = data
  const output = fact.kind === 'result' && outcome === 'ok' ? { output: typeof fact.result === 'string' ? fact.result : stringifyJson(fact.result) } : {}
  return { role: 'tool', text: [textOf(outcome), textOf(message)].filter(text => text !== '').join(': '), tool: textOf(name) || textOf(tool), ...output }
}

function printedBy (fact: Fact): string {
  const result = fact.kind === 'result' ? fact.result : fact.kind === 'input' ? fact.action?.data ?? { stdout: fact.text } : undefined
  return [textIn(result, 'stdout'), textIn(result, 'stderr')].filter(text => text !== '').join('\n')
}

function pathsOf (files: Json | undefined): string {
  const paths = listOf(files).map(file => textOf(isJsonObject(file) ? file['path'] : file))
  return `${paths.slice(0, MAX_PATHS).join(', ')}${paths.length > MAX_PATHS ? `, and ${paths.length - MAX_PATHS} more` : ''}`
}

function clip (text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…[truncated]`
}

export interface SessionUse {
  readonly kind: string
  /** A model's purpose, the id of a tool, or a name such as `agents/helper`. */
  readonly name: string
  readonly calls: number
  readonly failures: number
  readonly tokens: number
  /** In billionths of a USD. */
  readonly cost: number
  /** Calls of models whose cost is not known. */
  readonly unpriced: number
}

const MAX_USES = 500

const NAMES = ['purpose', 'tool', 'check', 'target', 'workspace', 'definition']

export async function usesIn (log: AsyncIterable<LogEntry>): Promise<readonly SessionUse[]> {
  const uses = new Map<string, SessionUse>()
  const keys = new Map<string, string>()
  for await (const { fact, begun } of log) {
    if ('effect' in fact && fact.kind !== 'decided') {
      const use = uses.get(keys.get(fact.effect) ?? '')
      if (use !== undefined) uses.set(keyOf(use), { ...use, failures: use.failures + (hasFailed(fact) ? 1 : 0), ...addUsage(use, fact) })
      keys.delete(fact.effect)
    }
    for (const { id, kind, subject } of begun) {
      const name = nameOf(subject)
      if (name === undefined) continue
      const key = keyOf({ kind, name })
      const use = uses.get(key) ?? { kind, name, calls: 0, failures: 0, tokens: 0, cost: 0, unpriced: 0 }
      if (!uses.has(key) && uses.size === MAX_USES) continue
      uses.set(key, { ...use, calls: use.calls + 1 })
      keys.set(id, key)
    }
  }
  return [...uses.values()]
}

function keyOf ({ kind, name }: Pick<SessionUse, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

function nameOf (subject: JsonObject | undefined): string | undefined {
  const found = NAMES.find(name => subject !== undefined && Object.hasOwn(subject, name))
  const name = found === undefined ? undefined : subject?.[found]
  return typeof name === 'string' ? name : undefined
}

/** A command whose exit code is not 0, and a check that does not pass, count as failed, too. */
function hasFailed (fact: Fact): boolean {
  if (fact.kind !== 'result') return true
  const result: Json = fact.result
  return isJsonObject(result) && ((typeof result['exitCode'] === 'number' && result['exitCode'] !== 0) || result['passed'] === false)
}

function addUsage ({ tokens, cost, unpriced }: SessionUse, fact: Fact): Pick<SessionUse, 'tokens' | 'cost' | 'unpriced'> {
  if (fact.kind !== 'result' || fact.usage === undefined) return { tokens, cost, unpriced }
  const { input, output, usd } = fact.usage
  return { tokens: tokens + input + output, cost: cost + Math.round((usd ?? 0) * 1e9), unpriced: unpriced + (typeof usd === 'number' ? 0 : 1) }
}
