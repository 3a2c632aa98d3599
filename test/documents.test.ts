import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
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

describe('README and docs', () => {
  const pages = ['README.md', 'CHANGELOG.md', ...readdirSync('docs').filter(file => file.endsWith('.md')).map(file => `docs/${file}`)]
  const scripts = Object.keys((JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }).scripts)

  for (const page of pages) {
    const text = readFileSync(page, 'utf8')

    it(`${page} links only to files that exist`, () => {
      const links = Array.from(text.matchAll(/\]\((?!https?:|#)([^)#]+)/g), ([, link]) => link as string)
      for (const link of links) assert.doesNotThrow(() => readdirOrRead(new URL(link, new URL(page, `file://${process.cwd()}/`))), `${page} links to ${link}`)
    })

    it(`${page} names only scripts that exist`, () => {
      const named = Array.from(text.matchAll(/npm run ([\w:-]+)/g), ([, name]) => name as string)
      assert.deepEqual(named.filter(name => !scripts.includes(name)), [])
    })
  }
})

function readdirOrRead (url: URL): void {
  try {
    readFileSync(url)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error
  }
}
