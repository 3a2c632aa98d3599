import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NamePatterns } from '../../src/access/caller.ts'
import { operatorFor } from '../../src/access/rights.ts'
import { type LocalTarget, type OperatorFile, type Workspace } from '../../src/config/operator.ts'

const workspaces = new Map(['shop', 'bank'].map((name): [string, Workspace] => [name, { name, path: `/srv/${name}`, hasSkills: false, mayCommit: false, checks: new Map(), logs: new Map(), confirm: 'deletions' }]))
const target = (name: string): LocalTarget => ({ type: 'local', name, workspace: workspaces.get('bank') as Workspace, sandbox: 'auto', hasNetwork: false, mayRunUnasked: false, environment: [] })
const operator: OperatorFile = { workspaces, targets: new Map([['here', target('here')], ['there', target('there')]]), rules: [{ effect: 'deny', command: 'rm *' }] }

describe('What the operator offers', () => {
  it('is all of it to a caller without patterns', () => { assert.deepEqual(operatorFor(operator, { targets: undefined }), operator) })

  it('is to others what their patterns name, under all of the rules', () => {
    const { targets, workspaces, rules } = operatorFor(operator, { targets: new NamePatterns(['here', 'shop']) })
    assert.deepEqual([[...targets.keys()], [...workspaces.keys()], rules], [['here'], ['shop'], operator.rules])
  })
})
