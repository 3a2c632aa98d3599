// Twenty repairs in small repositories, as what a model answers one time after the other. How an answer is written down
// differs between the products (encodings.ts); which lines it wants to change does not.

/** One replacement of whole lines in a file. */
export interface LineEdit { readonly path: string, readonly search: string, readonly replace: string }

/** An answer of the model. `isCut`: it ends before its end mark. */
export type Move =
  | { readonly edit: LineEdit, readonly isCut?: boolean }
  | { readonly prose: string }
  | { readonly givesUp: string }

export type Files = Readonly<Record<string, string>>

/** A repair task. */
export interface RepairTask {
  readonly title: string
  readonly files: Files
  /** The file that has the fault. */
  readonly path: string
  /** In turn; the last one comes again. */
  readonly moves: readonly Move[]
  /** The files that differ at the end, where it is solved; nothing does where it cannot be. */
  readonly solved?: Files
  /** What a person writes while the model thinks about its first answer. */
  readonly person?: Files
}

interface Repository { readonly files: Files, readonly path: string, readonly fault: string, readonly right: string, wrong (n: number): string }

const manifest = (name: string): Files => ({ 'package.json': `${JSON.stringify({ name, private: true, type: 'module' }, null, 2)}\n`, 'README.md': `# ${name}\n`, '.gitignore': '.aider*\n' })
const test = (name: string, from: string, ...lines: readonly string[]): string =>
  `import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { ${name} } from '../src/${from}.js'\n\n${lines.join('\n')}\n`

const SHOP: Repository = {
  path: 'src/price.js',
  fault: '  const discount = pieces > 10 ? 0.1 : 0',
  right: '  const discount = pieces >= 10 ? 0.1 : 0',
  wrong: n => `  const discount = pieces > ${10 + n} ? 0.1 : 0`,
  files: {
    ...manifest('shop'),
    'src/price.js': '/** The price of some pieces: ten of them and more are a tenth cheaper. */\nexport function priceOf (pieces, each) {\n  const discount = pieces > 10 ? 0.1 : 0\n  return pieces * each * (1 - discount)\n}\n',
    'test/price.test.js': test('priceOf', 'price', "test('ten pieces are a tenth cheaper', () => { assert.equal(priceOf(10, 10), 90) })", "test('nine pieces are not', () => { assert.equal(priceOf(9, 10), 90) })")
  }
}

const WORDS: Repository = {
  path: 'src/slug.js',
  fault: "  return title.toLowerCase().replace(' ', '-')",
  right: "  return title.toLowerCase().replaceAll(' ', '-')",
  wrong: n => `  return title.toLowerCase().replace(' ', '${'-'.repeat(n + 1)}')`,
  files: {
    ...manifest('words'),
    'src/slug.js': "/** A title as it stands in an address. */\nexport function slugOf (title) {\n  return title.toLowerCase().replace(' ', '-')\n}\n",
    'test/slug.test.js': test('slugOf', 'slug', "test('every space is a dash', () => { assert.equal(slugOf('A b c'), 'a-b-c') })")
  }
}

const PAGES: Repository = {
  path: 'src/pages.js',
  fault: '  return Math.floor(count / size)',
  right: '  return Math.ceil(count / size)',
  wrong: n => `  return Math.floor(count / size) + ${n}`,
  files: {
    ...manifest('pages'),
    'src/pages.js': '/** How many pages a list takes. */\nexport function pagesOf (count, size) {\n  return Math.floor(count / size)\n}\n',
    'test/pages.test.js': test('pagesOf', 'pages', "test('a page that is not full counts', () => { assert.equal(pagesOf(11, 5), 3) })", "test('full pages count once', () => { assert.equal(pagesOf(10, 5), 2) })")
  }
}

/** Two functions with the same line; the second is the one that is wrong. */
function twins (hasTestOfFirst: boolean): RepairTask {
  const functionOf = (name: string, comparison: string): string => `export function ${name} (count) {\n  return count ${comparison} 5\n}\n`
  const tests = ["test('five are a bulk', () => { assert.equal(rules.isBulk(5), true) })", ...(hasTestOfFirst ? ["test('five are not free', () => { assert.equal(rules.isFree(5), false) })"] : [])]
  const path = 'src/rules.js'
  return {
    title: `the line is there twice${hasTestOfFirst ? '' : ', and only the right one has a test'}`,
    path,
    files: {
      ...manifest('rules'),
      [path]: `${functionOf('isFree', '>')}\n${functionOf('isBulk', '>')}`,
      'test/rules.test.js': test('rules', 'all', ...tests),
      'src/all.js': "export * as rules from './rules.js'\n"
    },
    moves: [
      { edit: { path, search: '  return count > 5', replace: '  return count >= 5' } },
      { edit: { path, search: 'export function isBulk (count) {\n  return count > 5', replace: 'export function isBulk (count) {\n  return count >= 5' } },
      { edit: { path, search: 'export function isFree (count) {\n  return count >= 5', replace: 'export function isFree (count) {\n  return count > 5' } }
    ],
    solved: { [path]: `${functionOf('isFree', '>')}\n${functionOf('isBulk', '>=')}` }
  }
}

const edit = ({ path }: Repository, search: string, replace: string): Move => ({ edit: { path, search, replace } })
const right = (repository: Repository, from = repository.fault): Move => edit(repository, from, repository.right)
/** The n-th wrong attempt, from 1: it changes the line of the one before. */
const wrong = (repository: Repository, n: number): Move => edit(repository, n === 1 ? repository.fault : repository.wrong(n - 1), repository.wrong(n))
const wrongs = (repository: Repository, count: number): Move[] => Array.from({ length: count }, (_, index) => wrong(repository, index + 1))
const shifted = (line: string): string => `    ${line}`

function taskIn (repository: Repository, title: string, moves: readonly Move[], isSolved = true): RepairTask {
  const { files, path, fault, right: mended } = repository
  return { title: `${title} (${path})`, files, path, moves, ...(isSolved ? { solved: { [path]: (files[path] as string).replace(fault, mended) } } : {}) }
}

/** A person writes while the model thinks. @param isSame whether it is the file that the model changes */
function besides (repository: Repository, title: string, isSame: boolean): RepairTask {
  const task = taskIn(repository, title, [right(repository)])
  const path = isSame ? repository.path : 'README.md'
  const person = { [path]: `${isSame ? '// mine\n' : '<!-- mine -->\n'}${repository.files[path] as string}` }
  return { ...task, person, solved: isSame ? { [path]: (person[path] as string).replace(repository.fault, repository.right) } : task.solved ?? {} }
}

const ALL = [SHOP, WORDS, PAGES]

/** The twenty tasks, in the order of the report. */
export const TASKS: readonly RepairTask[] = [
  ...ALL.map(each => taskIn(each, 'right at once', [right(each)])),
  ...ALL.map(each => taskIn(each, 'wrong indentation', [edit(each, shifted(each.fault), shifted(each.right)), right(each)])),
  twins(true),
  twins(false),
  taskIn(SHOP, 'an answer in prose', [{ prose: 'Sure! The comparison in the discount should include ten pieces.' }, right(SHOP)]),
  taskIn(WORDS, 'an answer that is cut off', [{ edit: { path: WORDS.path, search: WORDS.fault, replace: WORDS.right }, isCut: true }, right(WORDS)]),
  ...[SHOP, WORDS].map(each => taskIn(each, 'the test fails once', [wrong(each, 1), right(each, each.wrong(1))])),
  ...[WORDS, PAGES].map(each => taskIn(each, 'the test fails twice', [...wrongs(each, 2), right(each, each.wrong(2))])),
  ...[SHOP, PAGES].map(each => taskIn(each, 'the test fails four times', wrongs(each, 6), false)),
  besides(SHOP, 'a person changes the same file', true),
  besides(WORDS, 'a person changes another file', false),
  taskIn(PAGES, 'after a wrong edit none fits any more', [wrong(PAGES, 1), edit(PAGES, '  return count / size | 0', PAGES.right)], false),
  taskIn(SHOP, 'after a wrong edit the model gives up', [wrong(SHOP, 1), { givesUp: 'I cannot find what is wrong.' }], false)
]
