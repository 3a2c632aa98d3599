import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject, stringifyJson } from '../../src/base/json.ts'
import { startProcess } from '../helpers/service-process.ts'
import { type JsonView, startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { type ArmedBomb } from './bombs/bomb.ts'
import { BOMB_REGISTRATIONS, BOMBS, NEIGHBOUR } from './bombs/surroundings.ts'

/** A heap in which the service starts, and in which no bomb has room. */
const HEAP_MEGABYTES = 192
const AT_ONCE = 10

/** What a lint calls that which a render answers with. */
const ASIDE: ReadonlyMap<string, string> = new Map([['TEMPLATE_CYCLE', 'PARTIAL_CYCLE'], ['TEMPLATE_SYNTAX', 'SYNTAX'], ['TEMPLATE_LINK', 'FUNCTION_UNKNOWN']])

describe('a template that is a bomb', () => {
  it('ends with its code, and leaves the service as it was', async t => {
    // Time enough, so that on any machine it is the budget that ends a render.
    const { app, post } = await startService(t, BOMB_REGISTRATIONS, { RENDER_TIMEOUT_MS: '600000' })
    for (const bomb of BOMBS) {
      await t.test(bomb.id, async () => {
        const reply = await app.inject({ method: 'POST', url: `/api/render/prompts/${bomb.id}`, headers: { 'content-type': 'application/json' }, payload: bodyOf(bomb) })
        const { code, message } = reply.json<JsonView>()
        assert.deepEqual([reply.statusCode, code], [bomb.status, bomb.code], String(message))
        assert.equal((await post(`/api/render/prompts/${NEIGHBOUR.id}`)).json['rendered_prompt'], NEIGHBOUR.text)
      })
    }
  })

  it('ends with the same code where it is only tried, and leaves the service as it was', async t => {
    const { app, post } = await startService(t, BOMB_REGISTRATIONS, { RENDER_TIMEOUT_MS: '600000' })
    for (const bomb of BOMBS) {
      const payload = stringifyJson({ prompt: bomb.registrations[`templates:${bomb.id.replace('.', ':')}`] as JsonObject, variables: bomb.variables })
      const reply = await app.inject({ method: 'POST', url: `/api/prompts/${bomb.id}/preview`, headers: { 'content-type': 'application/json' }, payload })
      const { code, diagnostics } = reply.json<{ readonly code?: string, readonly diagnostics?: ReadonlyArray<{ readonly code: string }> }>()
      assert.equal(code ?? diagnostics?.[0]?.code, ASIDE.get(bomb.code) ?? bomb.code, bomb.id)
    }
    assert.equal((await post(`/api/render/prompts/${NEIGHBOUR.id}`)).json['rendered_prompt'], NEIGHBOUR.text)
  })

  it('ends among nine others, in a process with a small heap', async t => {
    const folder = await createTemporaryFolder()
    t.after(() => folder.remove())
    await Promise.all(Object.entries(BOMB_REGISTRATIONS).map(([key, value]) => folder.write(`${key.replaceAll(':', '/')}.json`, JSON.stringify(value))))
    const { url, process } = await startProcess(t, { STORE_DIR: folder.path, NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}` })

    for (let start = 0; start < BOMBS.length; start += AT_ONCE) {
      const outcomes = await Promise.all(BOMBS.slice(start, start + AT_ONCE).map(async bomb => ({ bomb, outcome: await renderAt(url, bomb) })))
      for (const { bomb, outcome } of outcomes) {
        // Beside others a render may also run out of time, since waiting for a turn counts, or not be begun at all.
        const isLate = outcome[1] === 'RENDER_TIMEOUT' || outcome[1] === 'OVERLOADED'
        assert.deepEqual(outcome, isLate ? [503, outcome[1]] : [bomb.status, bomb.code], bomb.id)
      }
    }
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    assert.equal(process.exitCode, null)
  })
})

function bodyOf ({ variables }: ArmedBomb): string {
  return stringifyJson({ variables })
}

async function renderAt (url: string, bomb: ArmedBomb): Promise<[status: number, code: unknown]> {
  const reply = await fetch(`${url}/api/render/prompts/${bomb.id}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: bodyOf(bomb) })
  return [reply.status, (await reply.json() as JsonView)['code']]
}
