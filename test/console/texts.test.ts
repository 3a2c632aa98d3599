import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { texts as author } from '../../console/text/en/author.ts'
import { texts as frame } from '../../console/text/en/frame.ts'
import { texts as sessions } from '../../console/text/en/sessions.ts'
import { texts as signIn } from '../../console/text/en/sign-in.ts'
import { texts as tabs } from '../../console/text/en/tabs.ts'
import { texts as usage } from '../../console/text/en/usage.ts'
import { texts as work } from '../../console/text/en/work.ts'
import { buildConsole } from '../helpers/console.ts'

interface Input { readonly imports: ReadonlyArray<{ readonly path: string, readonly kind: string, readonly external?: boolean }> }

/** What is loaded at once, and the texts that are there by then. */
const LOADED = [
  ['console/main.tsx', frame],
  ['console/api/sign-in.ts', { ...frame, ...signIn }],
  ['console/frame/author-screens.ts', { ...frame, ...author }],
  ['console/prompts/prompt-page.tsx', { ...frame, ...author }],
  ['console/prompts/releases/releases-tab.tsx', { ...frame, ...author, ...tabs, ...usage }],
  ['console/prompts/tests/tests-tab.tsx', { ...frame, ...author, ...tabs }],
  ['console/prompts/play/playground.tsx', { ...frame, ...author, ...tabs }],
  ['console/prompts/releases/compare-tab.tsx', { ...frame, ...author, ...tabs }],
  ['console/prompts/releases/saved-line.tsx', { ...frame, ...author, ...tabs }],
  ['console/usage/usage-page.tsx', { ...frame, ...usage }],
  ['console/frame/work-screens.ts', { ...frame, ...work, ...sessions, ...usage }],
  ['console/sessions/timeline.tsx', { ...frame, ...work, ...sessions, ...usage }],
  ['console/sessions/retry-button.tsx', { ...frame, ...work, ...sessions, ...usage }],
  ['console/sessions/trace-page.tsx', { ...frame, ...work, ...sessions, ...usage }],
  ['console/approvals/approvals-page.tsx', { ...frame, ...work }],
  ['console/terminals/terminal-page.tsx', { ...frame, ...work }],
  ['console/terminals/terminal-screen.tsx', { ...frame, ...work }],
  ['console/edit/assist.ts', { ...frame, ...author, ...tabs }],
  ['console/edit/difference.tsx', frame]
] as const

describe('The texts of the console', () => {
  let inputs: Readonly<Record<string, Input>> = {}
  before(() => {
    buildConsole()
    inputs = (JSON.parse(readFileSync('.build/console-meta.json', 'utf8')) as { readonly inputs: typeof inputs }).inputs
  })

  /** A file of the console, and all that it imports at once. */
  function withImports (path: string, found = new Set<string>()): Set<string> {
    if (found.has(path)) return found
    found.add(path)
    for (const { path: imported, kind } of inputs[path]?.imports ?? []) if (kind === 'import-statement' && imported.startsWith('console/')) withImports(imported, found)
    return found
  }

  const saidBy = (path: string): readonly string[] => [...readFileSync(path, 'utf8').matchAll(/(?<![\w.])t\.(\w+)/g)].map(([, name = '']) => name)

  for (const [path, texts] of LOADED) {
    it(`are there when ${path} says them`, () => {
      const missing = [...withImports(path)].flatMap(file => saidBy(file).filter(name => !Object.hasOwn(texts, name)).map(name => `${file}: ${name}`))
      assert.deepEqual(missing, [])
    })
  }

  it('are all said somewhere, and stand in one part', () => {
    const said = new Set(Object.keys(inputs).filter(path => /^console\/.*\.tsx?$/.test(path) && !path.startsWith('console/text/')).flatMap(saidBy))
    const all = [frame, author, tabs, work, sessions, signIn, usage].flatMap(texts => Object.keys(texts))
    assert.deepEqual(all.filter(name => !said.has(name)), [])
    assert.equal(new Set(all).size, all.length)
  })
})
