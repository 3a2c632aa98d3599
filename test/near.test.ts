import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

// The scripts are no part of what is compiled.
const { nearTests } = await import(pathToFileURL(join(process.cwd(), 'scripts/testing/near.js')).href) as { nearTests (tests: readonly string[], changed: readonly string[]): string[] }

const TESTS = ['imports.test.ts', 'json.test.ts', 'template/detect-syntax.test.ts', 'registry/decode-value.test.ts', 'docs/links.test.ts', 'groups.test.ts']

describe('Tests that are near to a change', () => {
  const cases: ReadonlyArray<readonly [what: string, changed: readonly string[], tests: readonly string[]]> = [
    ['import what was changed, directly', ['src/base/json.ts'], ['json.test.ts', 'registry/decode-value.test.ts']],
    ['import what was changed, through others', ['src/template/prescan.ts'], ['template/detect-syntax.test.ts', 'registry/decode-value.test.ts']],
    ['were changed themselves', ['test/imports.test.ts'], ['imports.test.ts']],
    ['name a file beside them', ['test/template/detect-syntax.yaml'], ['template/detect-syntax.test.ts']],
    ['read every page', ['docs/chat.md'], ['docs/links.test.ts']],
    ['are none where nothing reaches it', ['bench/chat.ts'], []]
  ]
  for (const [what, changed, tests] of cases) {
    it(what, () => { assert.deepEqual(nearTests(TESTS, changed), tests) })
  }
})
