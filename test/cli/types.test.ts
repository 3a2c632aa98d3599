import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const REGISTRATIONS = {
  'templates:greet': { description: 'The smallest */ prompt', userPrompt: 'Hello {{variables.name}}', parameters: [{ name: 'name', type: 'string', description: 'Who is\n greeted' }, { name: 'tone', enum: ['kind', 'dry'], default: 'dry' }] },
  'templates:plain': '{{variables.what}}',
  'templates:score': { userPrompt: 'x', parameters: { type: 'object', additionalProperties: false, properties: { code: { type: ['string', 'null'] } } }, structured: true, returns: { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] } }
}

const TYPES = `// Made by \`aps types\`, not by hand: \`aps types --check -o FILE\` tells when it is out of date.

/** The prompts of a service, for \`createClient<Prompts>\` of ai-prompt-shell/client. */
export interface Prompts {
  /** The smallest *\\/ prompt */
  readonly "greet": {
    readonly variables: {
      /** Who is greeted */
      readonly "name": string
      readonly "tone"?: "kind" | "dry"
      readonly [name: string]: unknown
    }
    readonly returns: string
  }
  readonly "plain": {
    readonly variables: {
      readonly "what": unknown
      readonly [name: string]: unknown
    }
    readonly returns: string
  }
  readonly "score": {
    readonly variables: {
      readonly "code"?: string | null
    }
    readonly returns: {
      readonly "score": number
      readonly [name: string]: unknown
    }
  }
}
`

async function openOwn (t: AtEnd) {
  const service = await startService(t, REGISTRATIONS)
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const url = await service.listen()
  return { service, file: join(folder.path, 'prompts.ts'), aps: (...args: string[]) => runApsHere(['types', ...args], { APS_URL: url }) }
}

const open = shared(openOwn)

describe('aps types', () => {
  it('prints the types of all prompts', async () => {
    const { aps } = await open()
    assert.deepEqual(await aps(), { code: 0, stdout: TYPES, stderr: '' })
  })

  it('prints those whose ids begin with a prefix', async () => {
    const { aps } = await open()
    assert.deepEqual((await aps('--prefix', 'sc')).stdout.match(/^ {2}readonly "\w+"/gm), ['  readonly "score"'])
  })

  it('prints those of a label, as it means them', async t => {
    const { aps, service } = await openOwn(t)
    await service.post('/api/prompts/plain/versions', {})
    const labelled = await service.app.inject({ method: 'PUT', url: '/api/prompts/plain/labels/staging', payload: { version: 1 } })
    assert.equal(labelled.statusCode, 200, labelled.body)
    await service.app.inject({ method: 'PUT', url: '/api/prompts/plain', payload: { userPrompt: '{{variables.other}}' } })
    assert.deepEqual((await aps('--label', 'staging')).stdout.match(/readonly "\w+"/g), ['readonly "plain"', 'readonly "what"'])
  })

  it('writes a file, and tells when it is out of date', async t => {
    const { aps, file, service } = await openOwn(t)
    assert.deepEqual(await aps('--check', '-o', file), { code: 1, stdout: '', stderr: `aps: ${file} is out of date; aps types -o ${file} renews it\n` })
    assert.deepEqual(await aps('-o', file), { code: 0, stdout: '', stderr: `wrote ${file}\n` })
    assert.equal(await readFile(file, 'utf8'), TYPES)
    assert.deepEqual(await aps('--check', '-o', file), { code: 0, stdout: '', stderr: `${file} is up to date\n` })
    const put = await service.app.inject({ method: 'PUT', url: '/api/prompts/plain', payload: { userPrompt: '{{variables.other}}' } })
    assert.equal(put.statusCode, 200)
    assert.equal((await aps('--check', '-o', file)).code, 1)
    assert.equal(await readFile(file, 'utf8'), TYPES)
  })

  it('asks for the file that is checked', async () => {
    const { aps } = await open()
    assert.equal((await aps('--check')).code, 2)
  })
})
