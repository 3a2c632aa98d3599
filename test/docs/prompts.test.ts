import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { parse } from 'yaml'
import { startService } from '../helpers/service.ts'

it('docs/prompts.md shows what its prompt renders to', async t => {
  const page = readFileSync('docs/prompts.md', 'utf8')
  const [, prompt = ''] = /^```yaml prompt\n(.*?)^```$/ms.exec(page) ?? []
  const [, rendered = ''] = /^```json rendered\n(.*?)^```$/ms.exec(page) ?? []
  const service = await startService(t, { 'templates:team:greet': parse(prompt) })
  assert.deepEqual((await service.get('/api/status/entries')).json, [])
  const reply = await service.post('/api/render/prompts/team.greet', { variables: { name: 'Ada' } })
  assert.equal(reply.status, 200, JSON.stringify(reply.json))
  assert.deepEqual(reply.json['rendered_prompt'], JSON.parse(rendered))
})
