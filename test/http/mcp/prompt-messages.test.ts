import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { promptMessages } from '../../../src/http/mcp-handler.ts'

const rows: ReadonlyArray<readonly [what: string, part: JsonObject, block: JsonObject]> = [
  ['a text', { type: 'text', text: 'a' }, { type: 'text', text: 'a' }],
  ['a picture in the request', { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }],
  ['a picture in plain text', { type: 'image_url', image_url: { url: 'data:image/svg+xml,%3Csvg/%3E' } }, { type: 'image', data: Buffer.from('<svg/>').toString('base64'), mimeType: 'image/svg+xml' }],
  ['a picture elsewhere', { type: 'image_url', image_url: { url: 'https://a.b/c.png' } }, { type: 'resource_link', uri: 'https://a.b/c.png', name: 'image' }],
  ['a sound', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }, { type: 'audio', data: 'AAAA', mimeType: 'audio/mpeg' }],
  ['a file', { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a b.pdf' } }, { type: 'resource', resource: { uri: 'attachment:a%20b.pdf', mimeType: 'application/pdf', blob: 'AAAA' } }],
  ['a file at the provider', { type: 'file', file: { file_id: 'f' } }, { type: 'text', text: '{"type":"file","file":{"file_id":"f"}}' }]
]

describe('MCP gets', () => {
  for (const [what, part, block] of rows) {
    it(`${what} as ${String(block['type'])}`, () => { assert.deepEqual(promptMessages({ role: 'user', content: [part] }), [{ role: 'user', content: block }]) })
  }

  it('a message for each part, whose role is told where MCP has none of that name', () => {
    const parts = [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }]
    assert.deepEqual(promptMessages({ role: 'system', content: parts }), parts.map(part => ({ role: 'user', content: { ...part, _meta: { 'ai-prompt-shell/role': 'system' } } })))
  })
})
