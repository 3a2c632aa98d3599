import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

describe('docs/errors.md', () => {
  it('has every code that the service answers with, under its status, and no other', () => {
    const rows = readFileSync('docs/errors.md', 'utf8').matchAll(/^- `([A-Z_]+)` (\d+): /gm)
    assert.deepEqual(Array.from(rows, ([, code, status]) => `${code} ${status}`).sort(), codesInSource())
  })
})

/** Every error is declared in src/base/errors.ts; some codes have several messages. */
function codesInSource (): string[] {
  const source = readFileSync('src/base/errors.ts', 'utf8')
  const defined = Array.from(source.matchAll(/\bdefine\('([A-Z_]+)', (\d+)/g), ([, code, status]) => `${code} ${status}`)
  const notFound = Array.from(source.matchAll(/\bnotFound\('\w+', '([A-Z_]+)'\)/g), ([, code]) => `${code} 404`)
  return [...new Set([...defined, ...notFound])].sort()
}
