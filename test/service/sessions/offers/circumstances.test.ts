import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type SshTarget } from '../../../../src/config/operator.ts'
import { policyContextOf } from '../../../../src/service/sessions/open-sessions.ts'
import { type Effect } from '../../../../src/session/model.ts'
import { type Session } from '../../../../src/session/session.ts'

const web: SshTarget = { type: 'ssh', name: 'web', host: 'h', port: 22, user: 'u', hostKey: 'k', cwd: '/srv', hasSkills: false, mayRunUnasked: false }
const operator = { workspaces: new Map(), targets: new Map([['web', web]]), rules: [] }
const session = Object.assign({} as Session, { start: {}, open: new Map() })

describe('What is shown of the folder of a command', () => {
  for (const [what, terminal, known, shown] of [
    ['that runs without a terminal', undefined, undefined, { folder: '/srv' }],
    ['in a terminal', 'a1', '/home', { folder: '/home' }],
    ['in a terminal whose folder nobody knows', 'a1', '', { folder: '', folderUnknown: true }],
    ['in a terminal that another process has open, when nothing was shown before', 'a1', undefined, { folder: '', folderUnknown: true }]
  ] as const) {
    it(`${what} is ${JSON.stringify(shown)}`, () => {
      const effect = { kind: 'exec', id: '1.0', target: 'web', command: 'ls', timeout: 1, origin: 'model', ...(terminal === undefined ? {} : { terminal }) } as Effect
      assert.deepEqual(policyContextOf(operator, { folderOf: () => known }).about(session, effect), { host: 'h', port: 22, user: 'u', ...shown })
    })
  }
})
