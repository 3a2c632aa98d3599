import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { createWorkspace, type TestAction } from './workspace.ts'
import { property } from '../../helpers/property.ts'

const name = fc.constantFrom('a', 'b', 'Ab', 'é', 'e\u0301', 'constructor', '__proto__', 'с пробелом', '-rf', '$(id)', '%2e', 'x'.repeat(60))
const folder = fc.array(name, { maxLength: 3 })
const file = fc.tuple(folder, name, fc.constantFrom('.md', '.ts', '.sh')).map(([parts, base, extension]) => [...parts, base + extension].join('/'))
const content = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 50 }), fc.constantFrom('', '\r\n', 'a\r\nb\n', '\ufeffbom', 'no end', 'x'.repeat(100_000)))
const tree = fc.uniqueArray(fc.record({ path: file, content, mode: fc.constantFrom(0o644, 0o755, 0o600, 0o400) }), { maxLength: 12, selector: ({ path }) => path })
const action: fc.Arbitrary<TestAction> = fc.oneof(
  fc.record({ kind: fc.constantFrom('CREATE_FILE', 'UPDATE_FILE'), path: file, content }),
  fc.record({ kind: fc.constant('DELETE_FILE'), path: file }),
  fc.record({ kind: fc.constantFrom('CREATE_DIR', 'DELETE_DIR'), path: folder.filter(parts => parts.length > 0).map(parts => parts.join('/')) })
)

describe('For generated trees and actions', () => {
  property('undoing all changes gives the tree before them, and redoing them the one after', 60, async given => {
    let applied = 0
    await given.comesToHold(fc.asyncProperty(tree, fc.array(fc.array(fc.tuple(action, fc.nat()), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }), async (files, changes) => {
      const workspace = await createWorkspace()
      try {
        for (const { path, content, mode } of files) await workspace.put(path, content, mode).catch(() => {})
        const trees = [await workspace.tree()]
        for (const change of changes) {
          const there = Object.keys(trees.at(-1) ?? {}).filter(path => /\.(?:md|ts|sh)$/.test(path))
          // Most names that are made up are not there; half of the actions take one that is.
          const actions = change.map(([each, n]) => there.length > 0 && n % 2 === 0 && /UPDATE|DELETE_FILE/.test(each.kind) ? { ...each, path: there[n % there.length] as string } : each)
          const outcome = await workspace.apply(actions).catch(() => ({ kind: 'failure' }))
          if (outcome.kind === 'result') trees.push(await workspace.tree())
          else assert.deepEqual(await workspace.tree(), trees.at(-1))
        }
        applied += trees.length - 1
        // A change that changes nothing has nothing to take back.
        const distinct = trees.filter((each, index) => index === 0 || JSON.stringify(each) !== JSON.stringify(trees[index - 1]))
        for (const before of distinct.slice(0, -1).reverse()) {
          assert.equal((await workspace.undo()).kind, 'result')
          assert.deepEqual(await workspace.tree(), before)
        }
        for (const after of distinct.slice(1)) {
          assert.equal((await workspace.redo()).kind, 'result')
          assert.deepEqual(await workspace.tree(), after)
        }
      } finally {
        await workspace.remove()
      }
    }))
    given.wasOfUse(applied, 0.3)
  })
})
