import assert from 'node:assert/strict'

// What is new in every run, and what a page leaves out: `…` as a line stands for any lines, and in a line for any text.

/** Members of JSON that are times, or new in every reply. */
const NEW: ReadonlySet<string> = new Set(['requestId', 'durationMs', 'created', 'createdAt', 'updatedAt', 'at', 'ageMs', 'uptimeMs'])

const IDS = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:chatcmpl-)?[0-9a-f]{32})\b/g

const TIMES = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** Asserts that commands have printed what a page says, ids and times aside. */
export function assertPrinted (printed: string, shown: string, isJson: boolean): void {
  if (isJson) assertSame(comparableJson(JSON.parse(printed)), comparableJson(JSON.parse(shown)), '')
  else if (!patternOf(comparable(shown)).test(comparable(printed))) assert.equal(comparable(printed), comparable(shown))
}

/** Without what a terminal adds to the rows of a pipe, either. */
function comparable (text: string): string {
  return text.replace(/\n*$/, '\n').replaceAll('\r', '').replace(/^ID .*\n/, '').replaceAll(/\t+$/gm, '').replaceAll(/(?<=\S)(?:\t| {2,})(?=\S)/g, ' ').replaceAll(IDS, 'ID').replaceAll(TIMES, 'TIME')
}

function patternOf (shown: string): RegExp {
  const lines = shown.split('\n').slice(0, -1).map(line => line === '…' ? '(?:[^\\n]*\\n)*?' : `${line.split('…').map(escape).join('[^\\n]*')}\\n`)
  return new RegExp(`^${lines.join('')}$`)
}

function escape (text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** The calls of an explained render are listed in the order of their answers, which is that of no run: here by name. */
function comparableJson (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparableJson)
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? value.replaceAll(IDS, 'ID').replaceAll(TIMES, 'TIME') : value
  const { calls } = value as { readonly calls?: unknown }
  const names = Array.isArray(calls) ? calls.map(call => (call as { readonly tool: string }).tool) : undefined
  const members = Object.entries(value).map(([name, member]) => [name, NEW.has(name) ? 'NEW' : name === 'calls' && names !== undefined ? byTool(member as object[]) : comparableJson(names === undefined ? member : named(member, names))])
  return Object.fromEntries(members)
}

function byTool (calls: readonly object[]): unknown {
  return calls.map(comparableJson).sort((one, other) => (one as { tool: string }).tool < (other as { tool: string }).tool ? -1 : 1)
}

/** Names a call where its place in the list stood. */
function named (value: unknown, names: readonly string[]): unknown {
  return JSON.parse(JSON.stringify(value), (name, member: unknown) => name === 'call' && typeof member === 'number' ? names[member] : member) as unknown
}

function assertSame (printed: unknown, shown: unknown, place: string): void {
  if (typeof shown === 'string' && shown.includes('…') && typeof printed === 'string') assert.match(`${printed}\n`, patternOf(`${shown}\n`), place)
  else if (typeof shown !== 'object' || shown === null || typeof printed !== 'object' || printed === null) assert.deepEqual(printed, shown, place)
  else {
    assert.deepEqual(Object.keys(printed).sort(), Object.keys(shown).sort(), place)
    for (const [name, member] of Object.entries(shown)) assertSame((printed as Record<string, unknown>)[name], member, `${place}/${name}`)
  }
}
