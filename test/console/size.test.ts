import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildConsole } from '../helpers/console.ts'

const KB = 1024

interface Output { readonly entryPoint?: string, readonly imports: ReadonlyArray<{ readonly path: string, readonly kind: string }> }

describe('What browsers load of the console, compressed,', () => {
  let outputs: Readonly<Record<string, Output>> = {}
  before(() => {
    buildConsole()
    outputs = (JSON.parse(readFileSync('.build/console-meta.json', 'utf8')) as { readonly outputs: typeof outputs }).outputs
  })

  /** Bytes of these files, each compressed as it is sent. */
  const sizeOf = (paths: Iterable<string>): number => [...paths].reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0)

  /** A file, and what it imports at once. */
  function withImports (path: string, found = new Set<string>()): Set<string> {
    if (found.has(path)) return found
    found.add(path)
    for (const { path: imported, kind } of outputs[path]?.imports ?? []) if (kind === 'import-statement') withImports(imported, found)
    return found
  }

  const entry = (name: string): string => Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === name)?.[0] as string

  it('is at most 110 KB for the first screen', () => {
    const size = sizeOf([...withImports(entry('console/main.tsx')), entry('console/style/console.css')])
    assert.ok(size <= 110 * KB, `${size} bytes`)
  })

  it('is at most 115 KB for the first screen of approvals, without the editor', () => {
    const approvals = withImports(entry('console/approvals/approvals-page.tsx'), withImports(entry('console/main.tsx')))
    const size = sizeOf([...approvals, entry('console/style/console.css')])
    assert.ok(size <= 115 * KB, `${size} bytes`)
    assert.ok(![...approvals].some(path => readFileSync(path, 'utf8').includes('cm-content')))
  })

  it('is at most 260 KB for all screens', () => {
    const size = sizeOf(Object.keys(outputs))
    assert.ok(size <= 260 * KB, `${size} bytes`)
  })
})
