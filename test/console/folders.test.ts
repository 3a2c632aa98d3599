import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { foldersOf, foldRows, type Order } from '../../console/prompts/folders.ts'

const row = (id: string, updatedAt = '2026-01-01', state = 'valid') => ({ id, updatedAt, state })

const written = (rows: ReadonlyArray<ReturnType<typeof row>>, order: Order = 'name', closed: readonly string[] = []): readonly string[] =>
  foldRows(rows, order, folder => closed.includes(folder)).map(line => {
    const shown = 'folder' in line ? `${line.folder.slice(line.said)} (${line.count}${line.wrong === 0 ? '' : `, ${line.wrong} wrong`})${line.isOpen ? '' : ' closed'}` : line.row.id.slice(line.said)
    return `${'  '.repeat(line.depth)}${shown}`
  })

describe('The folders of the list of prompts', () => {
  const cases: ReadonlyArray<readonly [title: string, ids: readonly string[], lines: readonly string[]]> = [
    ['are none where ids have no dots', ['b', 'a'], ['a', 'b']],
    ['are none for a prompt that would be alone in one', ['team.greet', 'solo'], ['solo', 'team.greet']],
    ['hold prompts that begin alike', ['team.greet', 'team.bye', 'solo'], ['solo', 'team. (2)', '  bye', '  greet']],
    ['hold folders', ['a.b.one', 'a.b.two', 'a.three', 'a.four'], ['a. (4)', '  b. (2)', '    one', '    two', '  four', '  three']],
    ['are one line where one holds nothing but another', ['a.b.c.one', 'a.b.c.two'], ['a.b.c. (2)', '  one', '  two']],
    ['stand beside a prompt of the same name', ['team', 'team.a', 'team.b'], ['team', 'team. (2)', '  a', '  b']],
    ['do not mix names that only begin with the same letters', ['team.a', 'teams.a', 'team.b', 'teams.b'], ['team. (2)', '  a', '  b', 'teams. (2)', '  a', '  b']],
    ['are empty for an empty list', [], []]
  ]
  for (const [title, ids, lines] of cases) {
    it(title, () => { assert.deepEqual(written(ids.map(id => row(id))), lines) })
  }

  it('show nothing inside when they are closed, and still count', () => {
    assert.deepEqual(written([row('a.b.one'), row('a.b.two', '', 'invalid'), row('a.c')], 'name', ['a.b.']), ['a. (3, 1 wrong)', '  b. (2, 1 wrong) closed', '  c'])
  })

  it('stand where the newest of their prompts would, by time', () => {
    assert.deepEqual(written([row('old', '2026-01-02'), row('t.a', '2026-01-01'), row('t.b', '2026-01-03')], 'changed'), ['t. (2)', '  b', '  a', 'old'])
  })

  it('stand first with a problem inside, by problems', () => {
    assert.deepEqual(written([row('a'), row('t.a'), row('t.b', '', 'invalid'), row('z', '', 'unlinked')], 'problems'), ['t. (2, 1 wrong)', '  b', '  a', 'z', 'a'])
  })

  it('are all known, so that all can be closed', () => {
    assert.deepEqual(foldersOf([row('a.b.one'), row('a.b.two'), row('a.three'), row('x.y')]), ['a.', 'a.b.'])
  })

  it('of 20,000 prompts in 31 levels hold each prompt once', () => {
    const rows = (count: number) => Array.from({ length: count }, (_, index) => row(`${'deep.'.repeat(index % 31)}p${index}`))
    assert.equal(foldRows(rows(20_000), 'name', () => false).filter(line => 'row' in line).length, 20_000)
  })
})
