import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { DIAGNOSTIC_TABLE } from '../../src/registry/diagnostic-table.ts'

const source = new URL('../../src/', import.meta.url)

/** Every code that the rooms write into a diagnostic. */
function codesInSource (): string[] {
  const files = ['registry', 'tool', 'store'].flatMap(room => readdirSync(new URL(`${room}/`, source), { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts')).map(file => `${room}/${file}`))
  const texts = files.filter(file => !file.endsWith('diagnostic-table.ts')).map(file => readFileSync(new URL(file, source), 'utf8'))
  const places = texts.flatMap(text => [...text.matchAll(/(?:\bcode: |\breject(?:ed)?\((?!new ToolError))\s*([^,}\n]*)/g)].map(match => match[1] ?? ''))
  return [...new Set(places.flatMap(place => [...place.matchAll(/'([A-Z]+(?:_[A-Z]+)*)'/g)].map(match => match[1] ?? '')))].sort()
}

describe('the table of diagnostics', () => {
  it('has every code that the source writes, and no other', () => {
    assert.deepEqual([...DIAGNOSTIC_TABLE.keys()].sort(), codesInSource())
  })
})
