import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

/** The instructions of the image that is released, each in one line. */
const STEPS = readFileSync('Dockerfile', 'utf8').split(/^FROM /m).at(-1)?.replaceAll('\\\n', ' ').split('\n').filter(line => /^[A-Z]/.test(line)) ?? []

/** The index of the only instruction that matches. */
function stepOf (pattern: RegExp): number {
  const found = STEPS.flatMap((step, index) => pattern.test(step) ? [index] : [])
  assert.equal(found.length, 1, `${pattern.source}: ${found.length} instructions`)
  return found[0] as number
}

describe('The image', () => {
  it('runs as a user who is not root', () => {
    assert.equal(STEPS.filter(step => step.startsWith('USER')).at(-1), 'USER node')
  })

  it('lets nobody but root write to the compiled code that Node runs', () => {
    const folder = /^ENV NODE_COMPILE_CACHE=(\S+)$/.exec(STEPS[stepOf(/NODE_COMPILE_CACHE/)] ?? '')?.[1] ?? ''
    assert.doesNotMatch(folder, /^\/(?:tmp|var|data)|state/, 'other users, commands and plans write there')
    const name = folder.replace('/app/', '').replaceAll('.', '\\.')
    const filled = stepOf(/^RUN STORE_DIR=/)
    const given = stepOf(new RegExp(`^RUN chown -R root:root ${name} && chmod -R u=rwX,go=rX ${name}$`))
    assert.ok(given > filled && STEPS.slice(given).every(step => !step.startsWith('RUN') || step === STEPS[given]), 'nothing is run after it was given to root')
  })
})
