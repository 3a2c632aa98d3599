import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type JsonView, startService } from '../../helpers/service.ts'

const registered = {
  'templates:a': 'x',
  'environs:team:tone': '"kind"',
  'environs:team:tone:loud': '"b"',
  'environs:team:rules': { a: 1 },
  'tools:x:find': { url: 'http://127.0.0.1:1/' },
  'extensions:more': { name: 'more', contributes: { prompts: [{ name: 'one', userPrompt: 'x' }] } }
}

for (const kind of ['prompts', 'environs', 'tools', 'extensions']) {
  it(`a detailed listing of ${kind} has the ETag of each entry that could be written`, async t => {
    const { get } = await startService(t, registered)
    const rows = (await get(`/api/${kind}?detail=true&type=all`.replace(kind === 'extensions' ? '' : '&type=all', ''))).json as unknown as readonly JsonView[]
    assert.ok(rows.length > 0)
    for (const { id, etag } of rows) assert.equal(etag, (await get(`/api/${kind}/${String(id)}`)).headers['etag'], String(id))
  })
}

it('a detailed listing of prompts says when this process saw each change, and that nobody has signed it', async t => {
  const before = Date.now()
  const { get } = await startService(t, registered)
  const [row] = (await get('/api/prompts?detail=true')).json as unknown as readonly JsonView[]
  assert.equal(row?.['by'], 'store')
  assert.ok(Date.parse(String(row['updatedAt'])) >= before - 1)
})
