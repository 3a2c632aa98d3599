import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { generateDocuments } from '../scripts/documents.ts'

const documents = await generateDocuments()

describe('generated documents', () => {
  for (const [path, text] of documents) {
    it(`${path} is up to date (npm run docs renews it)`, () => {
      assert.equal(readFileSync(path, 'utf8'), text)
    })
  }
})

describe('openapi/openapi.json', () => {
  const api = JSON.parse(documents.get('openapi/openapi.json') ?? '') as { openapi: string, paths: Record<string, Record<string, { operationId?: string, tags?: string[], summary?: string }>> }

  it('is valid OpenAPI 3.1 for an independent validator', async () => {
    const result = await new Validator().validate(structuredClone(api))
    assert.deepEqual(result.errors ?? [], [])
    assert.match(api.openapi, /^3\.1\./)
  })

  it('gives every operation a unique id, a tag and a summary', () => {
    const operations = Object.values(api.paths).flatMap(path => Object.values(path))
    assert.equal(new Set(operations.map(operation => operation.operationId)).size, operations.length)
    assert.ok(operations.every(operation => operation.tags?.length === 1 && operation.summary !== undefined))
  })
})
