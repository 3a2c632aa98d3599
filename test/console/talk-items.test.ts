import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { talkItems } from '../../console/sessions/talk-items.ts'

type Said = Parameters<typeof talkItems>[0][number]
type SessionEvent = Parameters<typeof talkItems>[1][number]
type Row = readonly [place: string, event: string, data: object]

const event = ([place, name, data]: Row): SessionEvent => {
  const [seq = 0, n = 0] = place.split('.').map(Number)
  return { seq, n, event: name, data: { at: place, ...data } }
}

const said = (place: string, role: Said['role'], more: Partial<Said> = {}): Said => {
  const [seq = 0, n = 0] = place.split('.').map(Number)
  return { seq, n, at: place, by: '', role, text: '', ...more }
}

const asks = (place: string, effect: string, more: object = { kind: 'tool', tool: 'crm.ticket', arguments: { id: 3 } }): Row => [place, 'approval', { effect, ...more }]
const decides = (place: string, effect: string, decision: string, more: object = {}): Row => [place, 'approval', { effect, decision, by: 'ann', ...more }]
const called = (place: string, effect: string): Row => [place, 'tool', { effect, phase: 'ended', outcome: 'ok', arguments: { id: 3 } }]
const child = (place: string, status: string): Row => [place, 'child', { effect: '8.0', session: 'c', name: 'walk', definition: 'skills/walk', status }]

/** Each item in short: its key, what it shows, and what was decided. */
const told = (saids: readonly Said[], rows: readonly Row[]): readonly string[] => talkItems(saids, rows.map(event)).map(({ key, text, ran, child: started }) =>
  [key, text, ran && `[${ran.phase} ${ran.words}${ran.decision === undefined ? '' : ` ${ran.decision} ${ran.by}`}${ran.outcome === undefined ? '' : ` ${ran.outcome}`}]`, started && `<${started.name} ${started.status}>`].filter(word => word !== undefined && word !== '').join(' '))

const TOOL = said('9.0', 'tool', { tool: 'look' })
const CASES: ReadonlyArray<{ readonly title: string, readonly said: readonly Said[], readonly events: readonly Row[], readonly items: readonly string[] }> = [
  { title: 'a call that waits for a person is no item: its card shows it', said: [said('2.0', 'user', { text: 'look' })], events: [asks('3.1', '3.0')], items: ['2.0 look'] },
  { title: 'a call that was allowed and runs is at the place of the decision', said: [said('5.0', 'assistant', { text: 'later' })], events: [asks('3.1', '3.0'), decides('4.0', '3.0', 'approve')], items: ['effect 3.0 [ended crm.ticket {"id":3} approve ann]', '5.0 later'] },
  { title: 'a call that has ended stays where it was decided about, under the same key', said: [said('5.0', 'assistant', { text: 'later' }), TOOL], events: [asks('3.1', '3.0'), decides('4.0', '3.0', 'approve'), called('9.0', '3.0')], items: ['effect 3.0 [ended look {"id":3} approve ann ok]', '5.0 later'] },
  { title: 'a call that nobody was asked about is where it ended', said: [said('5.0', 'assistant', { text: 'before' }), TOOL], events: [called('9.0', '3.0')], items: ['5.0 before', '9.0 [ended look {"id":3} ok]'] },
  { title: 'a refused call says why', said: [], events: [asks('3.1', '3.0'), decides('4.0', '3.0', 'reject', { reason: 'not now' })], items: ['effect 3.0 not now [ended crm.ticket {"id":3} reject ann]'] },
  { title: 'a proposed command that waits is proposed', said: [said('3.1', 'assistant', { command: 'ls' })], events: [asks('3.2', '3.0', { kind: 'exec', command: 'ls' })], items: ['3.1 [proposed ls]'] },
  { title: 'a command that was edited is the one that was allowed', said: [said('3.1', 'assistant', { command: 'ls' })], events: [asks('3.2', '3.0', { kind: 'exec', command: 'ls' }), decides('4.0', '3.0', 'approve', { command: 'ls -l' })], items: ['effect 3.0 [ended ls -l approve ann]'] },
  { title: 'a refused command stays, and so does what was said with it', said: [said('3.1', 'assistant', { command: 'ls', text: 'I look.' })], events: [asks('3.2', '3.0', { kind: 'exec', command: 'ls' }), decides('4.0', '3.0', 'reject')], items: ['3.1 I look.', 'effect 3.0 [ended ls reject ann]'] },
  { title: 'a change of files has its workspace', said: [], events: [asks('3.1', '3.0', { kind: 'apply', workspace: 'shop' }), decides('4.0', '3.0', 'approve')], items: ['effect 3.0 [ended apply shop approve ann]'] },
  { title: 'a session that was started is where it was started, with its newest state', said: [said('7.0', 'user', { text: 'walk' }), said('10.1', 'assistant', { text: 'done' })], events: [child('8.1', 'running'), child('9.0', 'completed')], items: ['7.0 walk', 'child 8.0 <walk completed>', '10.1 done'] },
  { title: 'a session whose start was allowed is one item', said: [], events: [asks('8.0', '8.0', { kind: 'child' }), decides('8.5', '8.0', 'approve'), child('8.6', 'running')], items: ['effect 8.0 <walk running>'] }
]

describe('The items of a dialogue', () => {
  for (const { title, said: saids, events, items } of CASES) it(title, () => { assert.deepEqual(told(saids, events), items) })

  it('10,000 messages with as many decisions take no time in the second power', () => {
    const count = 10_000
    const saids = Array.from({ length: count }, (_, index) => said(`${3 * index + 2}.0`, 'tool', { tool: 'look' }))
    const events = saids.flatMap((_, index) => [asks(`${3 * index}.1`, `${3 * index}.0`), decides(`${3 * index + 1}.0`, `${3 * index}.0`, 'approve'), called(`${3 * index + 2}.0`, `${3 * index}.0`)])
    assert.equal(told(saids, events).length, count)
  })
})
