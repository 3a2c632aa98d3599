import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildConsole } from '../helpers/console.ts'

const KB = 1024

interface Output { readonly entryPoint?: string, readonly inputs: Readonly<Record<string, unknown>>, readonly imports: ReadonlyArray<{ readonly path: string, readonly kind: string }> }

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

  const inputsOf = (path: string): Readonly<Record<string, unknown>> => outputs[path]?.inputs ?? {}

  const entry = (name: string): string => Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === name)?.[0] as string

  const PARTS = ['frame', 'author', 'tabs', 'work', 'sessions', 'sign-in', 'usage']

  /** Parts of the texts in one language. */
  const texts = (language: string, ...parts: readonly string[]): ReadonlySet<string> =>
    parts.reduce((found, part) => withImports(entry(`console/text/${language}/${part}.ts`), found), new Set<string>())

  it('is at most 120 KB for the first screen, with the words for errors', () => {
    const size = sizeOf([...withImports(entry('console/main.tsx')), ...texts('ru', 'frame'), entry('console/text/errors-ru.ts'), entry('console/style/console.css')])
    assert.ok(size <= 120 * KB, `${size} bytes`)
  })

  it('is at most 127 KB for the first screen of approvals, without the editor', () => {
    const approvals = withImports(entry('console/approvals/approvals-page.tsx'), withImports(entry('console/main.tsx')))
    const size = sizeOf(new Set([...approvals, ...texts('en', 'frame', 'work'), entry('console/style/console.css')]))
    assert.ok(size <= 127 * KB, `${size} bytes`)
    assert.ok(![...approvals].some(path => readFileSync(path, 'utf8').includes('cm-content')))
  })

  it('is at most 230 KB for the workbench, with the editor', () => {
    const workbench = withImports(entry('console/prompts/prompt-page.tsx'), withImports(entry('console/main.tsx')))
    const size = sizeOf(new Set([...workbench, ...texts('en', 'frame', 'author'), entry('console/style/console.css')]))
    assert.ok(size <= 230 * KB, `${size} bytes`)
  })

  /** What the screen of terminals loads, and no other. */
  const ofTerminals = (): ReadonlySet<string> => {
    const all = withImports(entry('console/terminals/terminal-screen.tsx'))
    const own = [...all].filter(path => Object.keys(inputsOf(path)).some(input => input.includes('@xterm')))
    return new Set([...own, entry('console/style/terminal.css')])
  }

  for (const [language, other] of [['English', 'ru'], ['Russian', 'en']] as const) {
    it(`is at most 364 KB for all screens but that of terminals, in ${language}`, () => {
      const left = new Set([...ofTerminals(), entry('console/terminals/terminal-page.tsx'), ...PARTS.map(part => entry(`console/text/${other}/${part}.ts`))])
      const size = sizeOf(Object.keys(outputs).filter(path => !left.has(path)))
      assert.ok(size <= 364 * KB, `${size} bytes`)
    })
  }

  it('is at most 90 KB for the terminals themselves, which only their screen loads', () => {
    const size = sizeOf(ofTerminals())
    assert.ok(size <= 90 * KB, `${size} bytes`)
    for (const [path, { entryPoint = '' }] of Object.entries(outputs)) {
      if (entryPoint === '' || entryPoint === 'console/style/terminal.css' || entryPoint === 'console/terminals/terminal-screen.tsx') continue
      assert.ok(![...withImports(path)].some(imported => ofTerminals().has(imported)), entryPoint)
    }
  })
})
