import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'

const filesBelow = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts')).map(file => join(folder, file))

const source = (file: string): string => readFileSync(file, 'utf8')

/** Folders that a file imports from. */
const foldersOf = (file: string): string[] => Array.from(source(file).matchAll(/(?:from |import\()'(\.[^']+)'/g), ([, path]) => dirname(normalize(join(dirname(file), path as string))))

describe('The rooms of sessions', () => {
  it('have floors: no two folders of the service import each other', () => {
    const imports = new Map<string, Set<string>>()
    for (const file of filesBelow('src/service')) imports.set(dirname(file), new Set([...imports.get(dirname(file)) ?? [], ...foldersOf(file)]))
    const pairs = [...imports].flatMap(([folder, imported]) => [...imported].filter(other => other !== folder && imports.get(other)?.has(folder) === true).map(other => `${folder} and ${other}`))
    assert.deepEqual(pairs, [])
  })

  it('have thin routes: those of agents, skills and plans take 300 lines together', () => {
    const lines = ['agents', 'skills', 'plans'].map(name => source(`src/http/routes/${name}.ts`).split('\n').length - 1)
    assert.ok(lines.reduce((sum, count) => sum + count, 0) <= 300, lines.join(' + '))
  })

  it('cast no reply of a route to what it is not', () => {
    assert.deepEqual(filesBelow('src/http/routes').filter(file => / as (?:unknown as|never)\b/.test(source(file))), [])
  })

  it('enter a session by its door alone, under the name of whoever visits', () => {
    const entering = [...filesBelow('src/http'), ...filesBelow('src/cli')].filter(file => /runner\.|SessionRunner|from '[^']*(?:settle|session-starts)\.ts'/.test(source(file)))
    assert.deepEqual(entering, [])
    assert.deepEqual(filesBelow('src/http').filter(file => /\{ \.\.\.caller\b/.test(source(file))), [], 'nobody is made up out of somebody else')
  })
})
