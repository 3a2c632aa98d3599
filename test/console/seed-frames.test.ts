import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { scratchRepository } from '../helpers/scratch-repository.ts'
import { type JsonView, startService } from '../helpers/service.ts'
import { connectSocket } from '../helpers/socket-client.ts'
import { waitFor } from '../helpers/wait-for.ts'

// What the page has sent and received that skills were tried with before there was a console. Clients of the seed's speak these frames.

const FOLDER = 'test/console/seed'

const SKILLS = Object.fromEntries(['git-quick-commit', 'disk-cleanup-report'].map(name => [`skills:${name}`, readFileSync(`examples/skills/${name}/SKILL.md`, 'utf8')]))

/** What differs from run to run: each is known by its name in the recording. */
const NAMES = ['sessionId', 'approvalId', 'digest', 'folder', 'expiresAt']

interface Line { readonly sent?: JsonView, readonly received?: JsonView }

describe('A recorded conversation of the page before the console', () => {
  for (const name of readdirSync(FOLDER)) {
    it(`${name} is held by /ws frame by frame`, async t => {
      const lines = readFileSync(`${FOLDER}/${name}`, 'utf8').trim().split('\n').map(line => JSON.parse(line) as Line)
      const repository = await scratchRepository(t)
      const { listen } = await startService(t, SKILLS, { ...repository.environment, LOG_LEVEL: 'silent' })
      const client = await connectSocket(t, await listen())
      const [real, told] = [new Map<string, string>(), new Map<string, string>()]
      let heard = 0
      for (const { sent, received } of lines) {
        if (sent !== undefined) {
          client.send(replaced(sent, word => real.get(word) ?? word))
          continue
        }
        const frame = await waitFor(`frame ${heard + 1}, ${JSON.stringify(received)}`, () => client.frames[heard])
        heard++
        for (const each of NAMES) {
          const [now, then] = [frame[each], received?.[each]]
          if (typeof now !== 'string' || typeof then !== 'string') continue
          real.set(then, now)
          told.set(now, then)
        }
        // Fields may be added; what was there stays as it was.
        const known = Object.fromEntries(Object.entries(replaced(frame, word => told.get(word) ?? word) as object).filter(([member]) => received !== undefined && Object.hasOwn(received, member)))
        assert.deepEqual(masked(known), masked(received))
      }
    })
  }
})

/** A frame with other words in the places of some. */
function replaced (value: unknown, by: (word: string) => string): unknown {
  if (typeof value === 'string') return by(value)
  if (Array.isArray(value)) return value.map(each => replaced(each, by))
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaced(each, by)])) : value
}

/** Hashes of commits differ from run to run. */
function masked (frame: unknown): unknown {
  return JSON.parse(JSON.stringify(frame).replaceAll(/\b[0-9a-f]{7}\b/g, 'HASH')) as unknown
}
