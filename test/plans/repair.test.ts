import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { type Tree } from '../files/change/workspace.ts'
import { property } from '../helpers/property.ts'
import { agreeToAll, type Answer, type RepairPlace, repairPlace, type TaskFiles } from './repair-harness.ts'

const PRICE = 'export function priceOf (pieces, each) {\n  const discount = pieces > 10 ? 0.1 : 0\n  return pieces * each * (1 - discount)\n}\n'
const FILES: TaskFiles = { 'src/price.js': PRICE, 'src/other.js': 'export const other = 10\n', 'README.md': '# Shop\n' }
const CHECK = 'grep -q ">= 10" src/price.js'

const READ = { actions: [], context_requests: [{ type: 'read_file', path: 'src/price.js' }, { type: 'read_file', path: 'src/other.js' }] }
const does = (...actions: object[]): Answer => ({ actions, summary: 'Done.' })
const edit = (search: string, replace: string, path = 'src/price.js') => ({ kind: 'EDIT_FILE', path, edits: [{ search, replace }] })
const RIGHT = edit('pieces > 10', 'pieces >= 10')

/** A task: what the model answers, and what is in `src/price.js` at the end; without that, nothing has changed. */
interface Task {
  readonly title: string
  readonly files?: TaskFiles
  readonly check?: string
  readonly answers: readonly Answer[]
  readonly solved?: string
  /** Further paths that are other ones at the end. */
  readonly others?: readonly string[]
  readonly atDiff?: (n: number, place: RepairPlace) => Promise<void>
  /** What somebody else has changed meanwhile, and stays. */
  readonly foreign?: readonly string[]
}

const MENDED = PRICE.replace('> 10', '>= 10')
const REWRITTEN = { kind: 'UPDATE_FILE', path: 'src/price.js', content: '// rewritten\n' }
const wrong = (n: number): Answer => does(edit(n === 0 ? 'pieces > 10' : `pieces > ${10 + n}`, `pieces > ${11 + n}`))
const person = (path: string, text: string): Pick<Task, 'atDiff' | 'foreign'> => ({ foreign: [path], atDiff: async (n, place) => { if (n === 1) await place.write(path, text) } })

const TASKS: readonly Task[] = [
  { title: 'an edit that is right at once', answers: [READ, does(RIGHT)], solved: MENDED },
  { title: 'a file with carriage returns', files: { ...FILES, 'src/price.js': PRICE.replaceAll('\n', '\r\n') }, answers: [READ, does(edit('{\n  const discount = pieces > 10', '{\n  const discount = pieces >= 10'))], solved: MENDED.replaceAll('\n', '\r\n') },
  { title: 'a file that begins with a mark of its bytes', files: { ...FILES, 'src/price.js': `\ufeff${PRICE}` }, answers: [READ, does(RIGHT)], solved: `\ufeff${MENDED}` },
  { title: 'a file without an end of its last line', files: { ...FILES, 'src/price.js': PRICE.trimEnd() }, answers: [READ, does(RIGHT)], solved: MENDED.trimEnd() },
  { title: 'a search with the wrong indentation', answers: [READ, does(edit('    const discount = pieces > 10', '    const discount = pieces >= 10')), does(RIGHT)], solved: MENDED },
  { title: 'a search that occurs twice', answers: [READ, does(edit('discount', 'rebate')), does(RIGHT)], solved: MENDED },
  { title: 'edits that overlap', answers: [READ, does({ kind: 'EDIT_FILE', path: 'src/price.js', edits: [{ search: 'pieces > 10 ?', replace: 'x' }, { search: '> 10', replace: 'y' }] }), does(RIGHT)], solved: MENDED },
  { title: 'an answer that is no JSON', answers: [READ, 'Sure! I would change the comparison.', does(RIGHT)], solved: MENDED },
  { title: 'an answer of another form', answers: [READ, does({ kind: 'PATCH', path: 'src/price.js' }), does(RIGHT)], solved: MENDED },
  { title: 'an edit of a file that was not read', answers: [does(RIGHT), does(RIGHT)], solved: MENDED },
  { title: 'a change of what is protected', answers: [READ, does({ kind: 'CREATE_FILE', path: '.env', content: 'x\n' }), does(RIGHT)], solved: MENDED },
  { title: 'a check that fails once', answers: [READ, wrong(0), does(edit('pieces > 11', 'pieces >= 10'))], solved: MENDED },
  { title: 'a check that fails twice', answers: [READ, wrong(0), wrong(1), does(edit('pieces > 12', 'pieces >= 10'))], solved: MENDED },
  { title: 'a check that fails, and a round in a second file', answers: [READ, wrong(0), does(edit('other = 10', 'other = 11', 'src/other.js'), edit('pieces > 11', 'pieces >= 10'))], solved: MENDED, others: ['src/other.js'] },
  { title: 'a check that fails, and a round with a new file', answers: [READ, wrong(0), does({ kind: 'CREATE_FILE', path: 'src/new.js', content: 'x\n' }, edit('pieces > 11', 'pieces >= 10'))], solved: MENDED, others: ['src/new.js'] },
  { title: 'a file that a person has changed after the diff was shown', answers: [READ, does(RIGHT), does(edit('pieces > 10', 'pieces >= 10'))], solved: `// mine\n${MENDED}`, ...person('src/price.js', `// mine\n${PRICE}`) },
  { title: 'another file that a person has changed', answers: [READ, does(RIGHT)], solved: MENDED, ...person('README.md', '# Mine\n') },
  { title: 'a check that fails four times', answers: [READ, wrong(0), wrong(1), wrong(2), wrong(3)] },
  { title: 'a model that does the same again', answers: [READ, does(edit('pieces > 10', 'pieces > 10 /* x */')), does(edit('pieces > 10', 'pieces > 10 /* x */')), does(edit('pieces > 10', 'pieces > 10 /* x */'))] },
  { title: 'a model that gives up with NO_CHANGES', answers: [READ, wrong(0), { actions: [], summary: 'NO_CHANGES: it is the test that is wrong' }] },
  { title: 'an UPDATE_FILE that is made twice', answers: [READ, does(REWRITTEN), does(REWRITTEN)] },
  { title: 'a round that leaves the file as it is, and NO_CHANGES', answers: [READ, wrong(0), does(edit('pieces > 11', 'pieces > 11')), { actions: [], summary: 'NO_CHANGES: nothing to do' }] },
  { title: 'a first change that leaves the file as it is', answers: [READ, does(edit('pieces > 10', 'pieces > 10')), { actions: [], summary: 'NO_CHANGES: nothing to do' }] },
  { title: 'edits that are never found', answers: [READ, wrong(0), does(edit('no such text', 'x'))] },
  { title: 'answers that are never JSON', answers: [READ, wrong(0), 'I give up.'] }
]

const changedIn = (before: Tree, after: Tree): string[] => [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(path => before[path] !== after[path]).sort()

describe('A repair task', () => {
  for (const { title, files = FILES, check = CHECK, answers, solved, others = [], atDiff, foreign = [] } of TASKS) {
    it(`with ${title} writes nothing wrong, and is taken back as one`, async t => {
      const place = await repairPlace(t, { files, check, answers })
      let before = await place.tree()
      const plan = await agreeToAll(place, await place.start(), async n => {
        assert.deepEqual(n === 1 ? await place.tree() : before, before, 'nothing is written before it is agreed to')
        await atDiff?.(n, place)
        if (n === 1) before = await place.tree()
      })
      const after = await place.tree()
      if (solved === undefined) {
        assert.deepEqual(after, before)
        assert.deepEqual([plan['state'], plan['status'], plan['error_code']], ['undone', 'waiting_input', 'AUTO_CHECK_FAILED_ROLLED_BACK'])
        return
      }
      assert.equal(plan['state'], 'applied', JSON.stringify(plan))
      assert.deepEqual(changedIn(before, after), [...others, 'src/price.js'].sort())
      const { json } = await place.service.get(`/api/plans/${String(plan['id'])}/preview?path=src/price.js`)
      assert.equal(json['text'], solved)
      assert.equal((await place.act(String(plan['id']), 'undo'))['state'], 'undone')
      assert.deepEqual(await place.tree(), before)
      for (const path of foreign) assert.ok(path in before)
    })
  }
})

describe('What a goal has changed', () => {
  const TWO_ROUNDS: readonly Answer[] = [READ, does(edit('pieces > 10', 'pieces > 11'), edit('other = 10', 'other = 11', 'src/other.js')), does(edit('pieces > 11', 'pieces >= 10'))]
  const ANSWER: Answer = { actions: [], summary: 'It mends the comparison.' }
  const said = (text: string) => ['message', { text }] as const

  /** A goal that two rounds have solved, and what was there before. */
  async function solved (t: TestContext, answers: readonly Answer[] = [], profile = {}) {
    const place = await repairPlace(t, { files: FILES, check: CHECK, answers: [...TWO_ROUNDS, ...answers], profile: { confirm: 'deletions', ...profile } })
    const before = await place.tree()
    const plan = await agreeToAll(place, await place.start())
    assert.equal(plan['state'], 'applied', JSON.stringify(plan))
    return { place, before, id: String(plan['id']), after: await place.tree() }
  }

  for (const [title, answers, steps, states] of [
    ['a stray word', [ANSWER], [said('clear')], ['planned']],
    ['a question', [ANSWER], [said('plan: what was wrong?')], ['planned']],
    ['a question, and what was typed twice', [ANSWER, ANSWER], [said('why?'), said('why?')], ['planned', 'planned']],
    ['a next goal that is rejected as a plan', [ANSWER], [said('plan: more'), ['reject', undefined]], ['planned', 'applied']],
    ['a next goal that is rejected in words', [ANSWER], [said('plan: more'), said('reject')], ['planned', 'applied']],
    ['a next goal that fails', ['no JSON', 'no JSON', 'no JSON', 'no JSON'], [said('plan: more')], ['applied']],
    ['a next goal whose deletion waits, and is rejected', [does({ kind: 'DELETE_FILE', path: 'README.md' })], [said('apply: delete it'), ['reject', undefined]], ['awaiting_confirmation', 'applied']]
  ] as const) {
    it(`can be undone after ${title}`, async t => {
      const { place, before, id } = await solved(t, answers)
      for (const [index, [name, body]] of steps.entries()) assert.equal((await place.act(id, name, body))['state'], states[index])
      assert.equal((await place.act(id, ...said('undo')))['state'], 'undone')
      assert.deepEqual(await place.tree(), before)
      assert.equal((await place.act(id, ...said('redo')))['state'], 'applied')
    })
  }

  it('can be undone while the diff of the next goal waits, which is dropped', async t => {
    const { place, before, id } = await solved(t, [does({ kind: 'CREATE_FILE', path: 'new.md', content: 'x' })], { confirm: 'diff' })
    assert.equal((await place.act(id, ...said('apply: more')))['state'], 'awaiting_confirmation')
    assert.equal((await place.act(id, ...said('undo')))['state'], 'undone')
    assert.deepEqual(await place.tree(), before)
  })

  it('stays as it is, every file of every round, where somebody has changed one of them', async t => {
    const { place, id, after } = await solved(t)
    await place.write('src/other.js', '// mine\n')
    const mine = await place.tree()
    const plan = await place.act(id, 'undo', {})
    assert.deepEqual([plan['ok'], plan['state'], plan['conflicts']], [false, 'applied', [{ path: 'src/other.js', reason: 'changed' }]])
    assert.deepEqual(await place.tree(), mine)
    await place.write('src/other.js', 'export const other = 11\n')
    assert.deepEqual(await place.tree(), after)
    assert.equal((await place.act(id, 'undo', {}))['state'], 'undone')
  })

  for (const [words, files] of [
    ['undo: src/other.js', ['src/other.js']],
    ['Undo:  ./src/other.js , "src/price.js"', ['src/other.js', 'src/price.js']],
    ['undo src/other.js', ['src/other.js']],
    ['undo: src', ['src/other.js', 'src/price.js']],
    ['undo: src\\other.js', ['src/other.js']]
  ] as const) {
    it(`is undone in part by ${JSON.stringify(words)}`, async t => {
      const { place, before, id, after } = await solved(t)
      const plan = await place.act(id, ...said(words))
      assert.deepEqual((plan['undone'] as unknown as Array<{ path: string }>).map(({ path }) => path).sort(), files)
      assert.deepEqual(await place.tree(), { ...after, ...Object.fromEntries(files.map(file => [file, before[file]])) })
    })
  }

  it('is not undone by a path that is none of it, and the message names one that is', async t => {
    const { place, id, after } = await solved(t)
    const { status, json } = await place.service.post(`/api/plans/${id}/message`, { text: 'undo: README.md' })
    assert.equal(status, 400)
    assert.match(JSON.stringify(json), /expected paths of this change, such as \\"src\/(?:price|other).js\\", got \\"README.md\\"/)
    assert.deepEqual(await place.tree(), after)
  })

  it('is shown as one diff of all its rounds', async t => {
    const { place, id } = await solved(t)
    const { json } = await place.service.get(`/api/plans/${id}/preview`)
    const files = json['files'] as unknown as Array<{ path: string, diff: string }>
    assert.deepEqual(files.map(({ path }) => path).sort(), ['src/other.js', 'src/price.js'])
    assert.match(files.find(({ path }) => path === 'src/price.js')?.diff ?? '', /-.*pieces > 10[^]*\+.*pieces >= 10/)
  })
})

const eol = fc.constantFrom('\n', '\r\n')
const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map(each => each.replace(/[\r\n\0]|v\d/g, ''))

describe('For generated files and rounds', () => {
  property('one undo takes back all rounds, and one redo makes them again', 12, async (given, t) => {
    await given.comesToHold(fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 6 }), eol, fc.integer({ min: 1, max: 4 }), fc.boolean(), async (lines, end, rounds, isNew) => {
      const files = { 'src/a.js': [...lines, 'v1', ...lines].join(end) }
      const round = (n: number): Answer => does(edit(`v${n}`, `v${n + 1}`, 'src/a.js'), ...(isNew && n === 1 ? [{ kind: 'CREATE_FILE', path: 'src/deep/b.js', content: `${lines.join('\n')}\n` }] : []))
      const place = await repairPlace(t, { files, check: `grep -q v${rounds + 1} src/a.js`, answers: [{ actions: [], context_requests: [{ type: 'read_file', path: 'src/a.js' }] }, ...Array.from({ length: rounds }, (_, n) => round(n + 1))], profile: { confirm: 'deletions' } })
      const before = await place.tree()
      const plan = await place.start()
      assert.equal(plan['state'], 'applied', JSON.stringify(plan))
      const [id, after] = [String(plan['id']), await place.tree()]
      for (let n = 0; n < 2; n++) {
        assert.equal((await place.act(id, 'undo'))['state'], 'undone')
        assert.deepEqual(await place.tree(), before)
        assert.equal((await place.act(id, 'redo'))['state'], 'applied')
        assert.deepEqual(await place.tree(), after)
      }
    }))
  })
})
