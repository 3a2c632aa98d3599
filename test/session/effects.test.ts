import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contentOf, digestOf, rowOf } from '../../src/session/effects.ts'
import { type Effect } from '../../src/session/model.ts'

/** An effect of each kind, with what logs written before this test have of it. */
const WRITTEN: ReadonlyArray<{ readonly effect: Effect, readonly digest: string, readonly shown: object, readonly subject: object | undefined, readonly place: string | undefined }> = [
  { effect: { id: '1.0', kind: 'llm', purpose: 'select', messages: [{ role: 'user', content: 'a' }], fields: {}, timeout: 1000 }, digest: 'select', shown: { kind: 'llm' }, subject: { purpose: 'select' }, place: undefined },
  { effect: { id: '1.1', kind: 'tool', name: 'find', tool: 'team:find', arguments: { file: 'a.go', n: 1 }, timeout: 1000 }, digest: 'XoJJK0_1u6eI', shown: { kind: 'tool', tool: 'team:find', arguments: { file: 'a.go', n: 1 }, timeoutMs: 1000 }, subject: { tool: 'team:find' }, place: undefined },
  { effect: { id: '1.2', kind: 'exec', target: 'here', command: 'echo a', cwd: '/srv', origin: 'model', timeout: 1000 }, digest: 'DigaNIUnCLCw', shown: { kind: 'exec', target: 'here', folder: '/srv', command: 'echo a', origin: 'model', timeoutMs: 1000 }, subject: { target: 'here', command: 'echo a' }, place: 'here' },
  { effect: { id: '1.3', kind: 'exec', target: 'here', command: 'x'.repeat(600), origin: 'fallback', timeout: 1000 }, digest: '53WgY47Zbwx8', shown: { kind: 'exec', target: 'here', folder: '', command: 'x'.repeat(600), origin: 'fallback', timeoutMs: 1000 }, subject: { target: 'here', command: 'x'.repeat(500) }, place: 'here' },
  { effect: { id: '1.4', kind: 'check', workspace: 'shop', check: 'test', timeout: 1000 }, digest: 'low9guVJbGi-', shown: { kind: 'check' }, subject: { workspace: 'shop', check: 'test' }, place: 'shop' },
  { effect: { id: '1.5', kind: 'read', from: { target: 'here' }, requests: [{ path: 'a' }], timeout: 1000 }, digest: '', shown: { kind: 'read' }, subject: { target: 'here', requests: 1 }, place: 'here' },
  { effect: { id: '1.6', kind: 'read', from: { workspace: 'shop' }, requests: [], timeout: 1000 }, digest: '', shown: { kind: 'read' }, subject: { workspace: 'shop', requests: 0 }, place: 'shop' },
  { effect: { id: '1.7', kind: 'apply', workspace: 'shop', change: { do: { actions: [] } }, deletes: true, timeout: 1000 }, digest: 'AdIffhZpgKP-', shown: { kind: 'apply', workspace: 'shop', change: { do: { actions: [] } }, timeoutMs: 1000 }, subject: { workspace: 'shop', deletes: true }, place: 'shop' },
  { effect: { id: '1.11', kind: 'commit', workspace: 'shop', paths: ['a.js'], message: 'Mend a', timeout: 1000 }, digest: 'no9Tfv9QIuVJ', shown: { kind: 'commit', workspace: 'shop', paths: ['a.js'], message: 'Mend a', timeoutMs: 1000 }, subject: { workspace: 'shop', paths: 1 }, place: 'shop' },
  { effect: { id: '1.8', kind: 'remember', workspace: 'shop', patch: { a: 1 }, timeout: 1000 }, digest: 'SX5JycqWkD6R', shown: { kind: 'remember' }, subject: { workspace: 'shop' }, place: 'shop' },
  { effect: { id: '1.9', kind: 'remember', workspace: '', patch: {}, timeout: 1000 }, digest: 'W-9s91CRCViJ', shown: { kind: 'remember' }, subject: { workspace: '' }, place: undefined },
  { effect: { id: '1.12', kind: 'tests', prompt: 'team.a', label: 'production', versions: [2], timeout: 1000 }, digest: 'dVIkydRRPwiJ', shown: { kind: 'tests' }, subject: { prompt: 'team.a', versions: [2] }, place: undefined },
  { effect: { id: '1.13', kind: 'move', change: { prompt: 'team.a', label: 'production', from: 1, to: 2, since: null, hashes: { 2: 'x' } }, diff: '', looks: { author: 'ann', by: [], of: 1 }, timeout: 1000 }, digest: 'lRo7vWwOu_cN', shown: { kind: 'move', prompt: 'team.a', label: 'production', from: 1, to: 2, since: null, hashes: { 2: 'x' }, diff: '', looks: { author: 'ann', by: [], of: 1 } }, subject: { prompt: 'team.a', label: 'production', from: 1, to: 2 }, place: undefined },
  { effect: { id: '1.10', kind: 'wait' }, digest: '', shown: { kind: 'wait' }, subject: undefined, place: undefined }
]

describe('the effects of logs that were written', () => {
  for (const { effect, ...written } of WRITTEN) {
    it(`are read as they were written: ${effect.kind} ${effect.id}`, () => {
      const row = rowOf(effect)
      assert.deepEqual({ digest: digestOf(effect), shown: contentOf(effect), subject: row.subject(effect), place: row.place(effect) }, written)
    })
  }
})
