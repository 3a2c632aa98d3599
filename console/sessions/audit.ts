/** What the audit of a session says, as lines that can be told: who said what, what was called, how long it took, and what came of it. */

export type Facts = Readonly<Record<string, unknown>>

/** A step of an audit: what happened, what it began, held back for a person, or denied, and what followers were told. */
export interface Step {
  readonly seq: number
  readonly at: string
  readonly fact: Facts
  readonly begun: readonly Facts[]
  readonly held: readonly Facts[]
  readonly denied: readonly Facts[]
  readonly notices?: ReadonlyArray<{ readonly type: string, readonly data: Facts }>
}

/** `waits` for a person; `given-up` with its session, so that nobody knows how far it came. */
export type CallEnd = 'waits' | 'runs' | 'ok' | 'failed' | 'refused' | 'denied' | 'unknown' | 'given-up'

/** Something that the service did for a session. Times are in ms since 1970. */
export interface Call {
  readonly id: string
  /** Such as `llm`, `tool`, `exec`, `child`. */
  readonly kind: string
  /** What it is about: the tool, the target and the command, the question to the model. */
  readonly subject: Facts
  readonly arguments?: unknown
  readonly began?: number
  readonly ended?: number
  readonly end: CallEnd
  /** When a person was asked, and why; what the person said. */
  readonly askedAt?: number
  readonly rule?: string
  readonly decision?: { readonly isYes: boolean, readonly by: string, readonly at: number }
  readonly result?: unknown
  readonly message?: string
  /** Read and written by a model, or used by a child session in all. */
  readonly tokens?: number
  readonly usage?: { readonly input: number, readonly output: number }
  /** Of models, also of a child session in all; left out where nothing was counted, as in older logs. */
  readonly cost?: { readonly costUsd?: number | undefined, readonly unpricedCalls?: number | undefined }
  /** The child session that it began. */
  readonly session?: string
  readonly isAgain?: boolean
}

export type LineKind = 'started' | 'said' | 'acted' | 'call' | 'took' | 'stopped' | 'ended' | 'other'

/** One line of a timeline. A call has one line, at its beginning. */
export interface Line {
  readonly key: string
  readonly kind: LineKind
  /** In ms since 1970. */
  readonly at: number
  readonly by: string
  /** The words said, the action, the reason, the definition or the state, by the kind of the line. */
  readonly text: string
  readonly call?: Call
  /** All steps that the line tells. */
  readonly steps: readonly Step[]
}

/** The audit as lines, in the order in which things began. */
export function linesOf (steps: readonly Step[]): readonly Line[] {
  const calls = new Map<string, Call>()
  const places = new Map<string, number>()
  const lines: Line[] = []
  const tell = (step: Step, kind: LineKind, words: Pick<Line, 'by' | 'text'>) => {
    lines.push({ key: `${step.seq}.${kind}`, kind, at: Date.parse(step.at), ...words, steps: [step] })
  }
  const change = (step: Step, id: string, changed: Partial<Call>) => {
    const before = calls.get(id)
    if (before === undefined && changed.kind === undefined) return
    const call: Call = { id, kind: '', subject: {}, end: 'runs', ...before, ...changed }
    calls.set(id, call)
    const place = places.get(id)
    const known = place === undefined ? undefined : lines[place]
    if (place === undefined || known === undefined) {
      places.set(id, lines.push({ key: id, kind: 'call', at: Date.parse(step.at), by: '', text: '', call, steps: [step] }) - 1)
    } else lines[place] = { ...known, call, steps: known.steps.at(-1) === step ? known.steps : [...known.steps, step] }
  }
  for (const step of steps) {
    const { fact } = step
    const words = factWords(fact)
    if (words !== undefined) tell(step, ...words)
    for (const [id, changed] of changesOf(step, calls)) change(step, id, changed)
    const done = step.notices?.find(({ type }) => type === 'done')
    if (done !== undefined) tell(step, 'ended', { by: '', text: text(done.data['status']) })
  }
  return lines
}

/** What a fact says itself; none for a decision about a call, or its end: they stand in the line of the call. */
function factWords (fact: Facts): [kind: LineKind, words: Pick<Line, 'by' | 'text'>] | undefined {
  const by = text(fact['by'])
  switch (fact['kind']) {
    case 'started': {
      const start = record(fact['start'])
      return ['started', { by: text(start['owner']), text: text(start['definition']) }]
    }
    case 'input': {
      const action = fact['action']
      return action === undefined ? ['said', { by, text: text(fact['text']) }] : ['acted', { by, text: text(record(action)['name']) }]
    }
    case 'took': return ['took', { by: '', text: '' }]
    case 'stopped': return ['stopped', { by, text: text(fact['reason']) }]
    case 'decided':
    case 'result':
    case 'failure':
    case 'unknown':
    case 'refused': return undefined
    default: return ['other', { by, text: text(fact['kind']) }]
  }
}

/** What a step changes of calls: first of those that were there, then those that it begins. */
function changesOf ({ at, fact, begun, held, denied, notices = [] }: Step, calls: ReadonlyMap<string, Call>): Array<[id: string, changed: Partial<Call>]> {
  const time = Date.parse(at)
  const told = new Map(notices.filter(({ type, data }) => type === 'tool' && data['phase'] === 'called').map(({ data }) => [text(data['effect']), data]))
  return [
    ...closed(fact, time, calls),
    ...held.map((each): [string, Partial<Call>] => {
      const { id, kind, arguments: given, ...effect } = record(each['effect'])
      return [text(id), { kind: text(kind), subject: effect, arguments: given, askedAt: time, rule: text(each['rule']), end: 'waits' }]
    }),
    ...begun.filter(({ kind }) => kind !== 'wait').map((each): [string, Partial<Call>] => {
      const id = text(each['id'])
      const before = calls.get(id)
      const given = told.get(id)?.['arguments']
      const child = text(each['session'])
      return [id, {
        kind: text(each['kind']),
        subject: record(each['subject']),
        began: before?.began ?? time,
        end: 'runs',
        ...given === undefined ? {} : { arguments: given },
        ...child === '' ? {} : { session: child },
        ...before?.began === undefined ? {} : { isAgain: true }
      }]
    }),
    ...denied.map((each): [string, Partial<Call>] => {
      const id = text(each['id'])
      return [id, { kind: calls.get(id)?.kind ?? '', end: 'denied', message: text(each['reason']), ended: time }]
    })
  ]
}

/** The end of a call by a fact, or of all of them with their session. */
function closed (fact: Facts, time: number, calls: ReadonlyMap<string, Call>): Array<[id: string, changed: Partial<Call>]> {
  const id = text(fact['effect'])
  const usage = record(fact['usage'])
  const [input, output, spent] = [usage['input'], usage['output'], record(fact['spent'])['tokens']]
  const cost = costOf(fact)
  const counted: Partial<Call> = typeof input === 'number' && typeof output === 'number'
    ? { usage: { input, output }, tokens: input + output, ...cost && { cost } }
    : typeof spent === 'number' ? { tokens: spent, ...cost && { cost } } : {}
  switch (fact['kind']) {
    case 'result': return [[id, { end: hasFailed(fact['result']) ? 'failed' : 'ok', ended: time, result: fact['result'], ...counted }]]
    case 'failure': return [[id, { end: 'failed', ended: time, message: [fact['code'], fact['message']].map(text).join(': '), ...counted }]]
    case 'unknown': return [[id, { end: 'unknown', ended: time, message: text(fact['reason']) }]]
    case 'refused': return [[id, { end: 'refused', ended: time, message: text(fact['reason']) }]]
    case 'decided': {
      const isYes = fact['decision'] === 'approve'
      const command = text(fact['command'])
      const edited = command === '' ? {} : { subject: { ...calls.get(id)?.subject, command } }
      const [by, reason] = [text(fact['by']), text(fact['reason'])]
      return [[id, { decision: { isYes, by, at: time }, ...isYes ? edited : { end: 'refused', ended: time, message: reason } }]]
    }
    case 'stopped': return [...calls.values()].filter(({ end }) => end === 'runs' || end === 'waits')
      .map(({ id: open, end }) => [open, { end: end === 'runs' ? 'given-up' : 'refused', ended: time }])
    default: return []
  }
}

function costOf (fact: Facts): Call['cost'] {
  const [{ usd: one }, { usd: all, unpriced }] = [record(fact['usage']), record(fact['spent'])]
  if (one === null) return { unpricedCalls: 1 }
  if (typeof one !== 'number' && typeof all !== 'number' && typeof unpriced !== 'number') return undefined
  const usd = one ?? all
  return { costUsd: typeof usd === 'number' ? usd : undefined, unpricedCalls: typeof unpriced === 'number' ? unpriced : 0 }
}

/** What calls cost together; `undefined` where nothing was counted. */
export function sumOfCosts (calls: readonly Call[]): Call['cost'] {
  const costs = calls.flatMap(({ cost }) => cost ?? [])
  if (costs.length === 0) return undefined
  const known = costs.flatMap(({ costUsd }) => costUsd ?? [])
  return {
    costUsd: known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0),
    unpricedCalls: costs.reduce((sum, { unpricedCalls = 0 }) => sum + unpricedCalls, 0)
  }
}

/** A command with another exit code than 0, and a check that does not pass. */
function hasFailed (result: unknown): boolean {
  const { exitCode, passed } = record(result)
  return (typeof exitCode === 'number' && exitCode !== 0) || passed === false
}

/** What a call gave, as text: the answer of a model, what a command printed, or JSON. */
export function cameOf ({ kind, result }: Call): string {
  const { stdout, stderr, choices, output } = record(result)
  if (kind === 'llm' && Array.isArray(choices)) {
    const { content, tool_calls: asked } = record(record(choices[0])['message'])
    const names = Array.isArray(asked) ? asked.map(each => text(record(record(each)['function'])['name'])) : []
    return [text(content), names.length === 0 ? '' : `→ ${names.join(', ')}`].filter(part => part !== '').join('\n')
  }
  if (stdout !== undefined || stderr !== undefined) return [stdout, stderr].map(text).filter(part => part !== '').join('\n')
  if (typeof output === 'string') return output
  return result === undefined ? '' : typeof result === 'string' ? result : JSON.stringify(result, null, 2)
}

/** How a failed session would be tried once more. */
export interface Retry {
  /** `say`: the last words again, after a copy of all before them. `fork`: the copy alone. `start`: all anew, with the same input. */
  readonly way: 'say' | 'fork' | 'start'
  /** The last step that is copied. */
  readonly upTo: number
  readonly text: string
  readonly start: Facts
  /** What was done since that may have changed something, and may be done once more. */
  readonly done: readonly Call[]
}

/** Calls of these kinds only read. */
const READS: readonly string[] = ['llm', 'read']

export function retryOf (steps: readonly Step[]): Retry {
  const input = steps.findLast(({ fact }) => fact['kind'] === 'input')
  const start = record(steps.find(({ fact }) => fact['kind'] === 'started')?.fact['start'])
  const from = input === undefined ? 0 : input.seq
  const done = linesOf(steps).flatMap(({ call }) => {
    const isOf = call?.began !== undefined && !READS.includes(call.kind) && Number(call.id.split('.')[0]) >= from
    return isOf ? [call] : []
  })
  if (input === undefined) return { way: 'start', upTo: 0, text: '', start, done }
  const said = input.fact['action'] === undefined ? text(input.fact['text']) : ''
  return { way: said === '' ? 'fork' : 'say', upTo: input.seq - 1, text: said, start, done }
}

/** Whether nobody knows if the call did what it was to do. */
export function isInDoubt ({ end }: Call): boolean {
  return end === 'unknown' || end === 'given-up' || end === 'runs'
}

/** Makes an axis of time on which a pause, in which nothing runs, is short: else nights would be all that is seen. Shares are from 0 to 1. */
export function axisOf (calls: ReadonlyArray<Pick<Call, 'began' | 'ended'>>, now: number): (at: number) => number {
  const spans = calls.flatMap(({ began, ended = now }) => began === undefined ? [] : [[began, Math.max(began, ended)] as const]).sort((a, b) => a[0] - b[0])
  const busy: Array<[from: number, to: number]> = []
  for (const [from, to] of spans) {
    const last = busy.at(-1)
    if (last === undefined || from > last[1]) busy.push([from, to])
    else last[1] = Math.max(last[1], to)
  }
  const worked = busy.reduce((sum, [from, to]) => sum + to - from, 0)
  const pause = worked * PAUSE_SHARE / Math.max(1, busy.length - 1)
  const whole = worked + pause * Math.max(0, busy.length - 1)
  return at => {
    let before = 0
    for (const [from, to] of busy) {
      if (at <= to) return whole === 0 ? 0 : (before + Math.max(0, at - from)) / whole
      before += to - from + pause
    }
    return whole === 0 ? 0 : 1
  }
}

/** All pauses together, of the time in which something ran. */
const PAUSE_SHARE = 0.1

export function record (value: unknown): Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Facts : {}
}

function text (value: unknown): string {
  return typeof value === 'string' ? value : ''
}
