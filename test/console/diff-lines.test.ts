import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countOf, hunksOf, marksOf, type Row, rowsOf, rowsWith, textBetween } from '../../console/sessions/plan/diff-lines.ts'
import { treeRows } from '../../console/sessions/plan/file-tree.ts'

const NONE = new Map<number, number>()

/** A row in short: its sign, its numbers, its text with changed words in brackets. */
function told (row: Row): string {
  if (row.kind === 'gap') return `… ${row.count ?? '?'}`
  const { line: { kind, before = '', after = '', text }, line, from, to } = row
  const marked = marksOf(line).toReversed().reduce((words, mark) => `${words.slice(0, mark.from)}[${words.slice(mark.from, mark.to)}]${words.slice(mark.to)}`, text)
  return `${{ add: '+', del: '-', same: ' ', note: '!' }[kind]}${before}:${after} ${from === 0 && to === text.length ? marked : `${from}-${to}`}`
}

const TEXTS = Array.from({ length: 40 }, (_, index) => `t${index + 1}`)
const TWO = '--- a/x\n+++ b/x\n@@ -5,2 +5,2 @@\n t5\n-let a = 1\n+let a = 2\n@@ -30,1 +30,2 @@ f\n t30\n+t31\n'

const CASES: ReadonlyArray<{ readonly title: string, readonly diff: string, readonly opened?: ReadonlyMap<number, number>, readonly hasEnd?: boolean, readonly rows: readonly string[] }> = [
  { title: 'hunks, with what is between them left out, and the changed words marked', diff: TWO, rows: ['… 4', ' 5:5 t5', '-6: let a = [1]', '+:6 let a = [2]', '… 23', ' 30:30 t30', '+:31 t31', '… 9'] },
  { title: 'some lines of what is before a hunk: those next to it', diff: TWO, opened: new Map([[0, 2]]), rows: ['… 2', ' 3:3 t3', ' 4:4 t4', ' 5:5 t5', '-6: let a = [1]', '+:6 let a = [2]', '… 23', ' 30:30 t30', '+:31 t31', '… 9'] },
  { title: 'all of what is between hunks, and the beginning of what is after them', diff: TWO, opened: new Map([[0, 4], [1, 23], [2, 1]]), rows: [' 1:1 t1', ' 2:2 t2', ' 3:3 t3', ' 4:4 t4', ' 5:5 t5', '-6: let a = [1]', '+:6 let a = [2]', ...Array.from({ length: 23 }, (_, index) => ` ${index + 7}:${index + 7} t${index + 7}`), ' 30:30 t30', '+:31 t31', ' 31:32 t32', '… 8'] },
  { title: 'a new file as it is', diff: '--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n', hasEnd: false, rows: ['+:1 a', '+:2 b'] },
  { title: 'a line that looks like a header', diff: '--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n--- a\n+++ a\n', hasEnd: false, rows: ['-1: [--] a', '+:1 [++] a'] },
  { title: 'a note for a last line without end, and for what is no text', diff: '--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n+b\n\\ No newline at end of file\n', hasEnd: false, rows: ['-1: a', '+:1 b', '!: No newline at end of file'] },
  { title: 'what is no text', diff: '(12 bytes that are no text, SHA-256 aa)\n', hasEnd: false, rows: ['!: (12 bytes that are no text, SHA-256 aa)'] },
  { title: 'no marks on a line that has become another', diff: '--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one two three\n+four five six\n', hasEnd: false, rows: ['-1: one two three', '+:1 four five six'] },
  { title: 'a long line in rows of their own, without half a character', diff: `--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+${'x'.repeat(1999)}\u{1f600}${'y'.repeat(2500)}\n`, hasEnd: false, rows: ['+:1 0-2001', '+:1 2001-4001', '+:1 4001-4501'] }
]

describe('The rows of a diff', () => {
  for (const { title, diff, opened = NONE, hasEnd = true, rows } of CASES) it(`show ${title}`, () => { assert.deepEqual(rowsOf(hunksOf(diff), opened, TEXTS, hasEnd).map(told), rows) })

  it('do not know what is after the last hunk before the file was read', () => {
    assert.deepEqual(rowsOf(hunksOf(TWO), new Map([[0, 4], [2, 20]]), undefined, true).map(told).filter(row => row.startsWith('…')), ['… 4', '… 23', '… ?'])
  })

  it('are counted, found by their words, and copied as the lines that they are', () => {
    const rows = rowsOf(hunksOf(`${TWO}+${'x'.repeat(3000)}Needle\n`), NONE, undefined, false)
    assert.deepEqual(countOf(TWO), { added: 2, removed: 1 })
    assert.deepEqual([rowsWith(rows, 'LET A'), rowsWith(rows, 'needle'), rowsWith(rows, 'none')], [[2, 3], [8], []])
    assert.equal(textBetween(rows, 1, 5), 't5\nlet a = 1\nlet a = 2\nt30')
    assert.equal(textBetween(rows, 7, 8), `${'x'.repeat(3000)}Needle`)
  })

  it('of a line of 1 MB are laid out, and its change marked, without comparing each word with each', () => {
    const long = 'word '.repeat(200_000)
    const rows = rowsOf(hunksOf(`@@ -1,1 +1,1 @@\n-${long}a\n+${long}b\n`), NONE, undefined, false)
    assert.equal(rows.length, 1002)
    assert.deepEqual(marksOf((rows.at(-1) as Extract<Row, { kind: 'line' }>).line), [{ from: 1_000_000, to: 1_000_001 }])
  })
})

describe('The files of a change', () => {
  const told = (paths: readonly string[], folded: readonly string[] = []): readonly string[] => treeRows(paths.map(path => ({ path })), path => folded.includes(path)).map(row =>
    `${'  '.repeat(row.depth)}${row.name}${row.kind === 'folder' ? `/ (${row.files.length})${row.isFolded ? '…' : ''}` : ''}`)

  it('stand in their folders, of which one with nothing but another is joined with it', () => {
    assert.deepEqual(told(['src/deep/a.ts', 'src/deep/b.ts', 'README.md']), ['/ (3)', '  src/deep/ (2)', '    a.ts', '    b.ts', '  README.md'])
    assert.deepEqual(told(['src/a.ts', 'src/b/c.ts']), ['src/ (2)', '  b/ (1)', '    c.ts', '  a.ts'])
    assert.deepEqual(told(['a.md', 'b.md']), ['a.md', 'b.md'])
  })

  it('are folded with their folder', () => {
    assert.deepEqual(told(['src/a/x.ts', 'src/b/y.ts', 'z.md'], ['src']), ['/ (3)', '  src/ (2)…', '  z.md'])
    assert.deepEqual(told(['src/a/x.ts', 'z.md'], ['']), ['/ (2)…'])
  })

  it('have a folder that goes itself among its own', () => {
    assert.deepEqual(told(['old/a.md', 'old']), ['old/ (2)', '  a.md', '  old/'])
  })

  it('10,000 in 1,000 folders are each there', () => {
    const rows = treeRows(Array.from({ length: 10_000 }, (_, index) => ({ path: `d${index % 1000}/f${index}.md` })), () => false)
    assert.equal(rows.length, 11_001)
  })
})
