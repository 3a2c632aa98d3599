import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { link, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { applyChange } from '../../src/files/change/apply.ts'
import { Journal } from '../../src/files/change/journal.ts'
import { fulfil } from '../../src/files/workspaces.ts'
import { type JsonObject } from '../../src/base/json.ts'
import { isProtected } from '../../src/files/path-rules.ts'
import { WorkspaceFiles } from '../../src/files/workspace-files.ts'
import { property } from '../helpers/property.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { treeOf } from './change/workspace.ts'

/** In every file that nobody may read. */
const CANARY = 'canary-9f2c'

/** Parts of paths: what is there, what leads elsewhere, what is protected, and what looks like it. */
const part = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('src', 'a.md', 'real', 'out', 'root', 'loop', 'up', 'keys', 'env.md', 'hard.md', 'hardout.md', 'fifo.md', 'swap', 'flip', 'flip.md', 'x.md') },
  { weight: 2, arbitrary: fc.constantFrom('secrets', '.env', '.ENV', '.env.', '.env ', '.env::$DATA', 'id_rsa', 'ID_RSA', 'ıd_rsa', 'id_rſa', 'SECRETS', 'ſecrets', '.git', '.g\u200cit', 'git~1', '.papa-yu', 'a.pem', 'A.PEM', 'a.ke\u0079', 'a.K\u212aey', 'e\u0301.md', 'é.md') },
  { weight: 2, arbitrary: fc.constantFrom('..', '.', '', '...', '.. ', '~', '~root', 'C:', '//host', '\\\\host', '..\\..', '%2e%2e', '\0', '\u2025', '\uff0e\uff0e', '/etc', 'etc', 'passwd', 'outside', 'secret.md', 'x'.repeat(256), '\ud800') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) }
)
const path = fc.tuple(fc.constantFrom('', '', '', '/', './', '~/', 'C:/', '//', '../'), fc.array(part, { minLength: 1, maxLength: 4 }), fc.constantFrom('/', '/', '/', '\\')).map(([start, parts, separator]) => start + parts.join(separator))

describe('The guard of a workspace', { skip: process.platform !== 'linux' }, () => {
  let folder: TemporaryFolder
  let root: string
  before(async () => {
    folder = await createTemporaryFolder()
    root = join(folder.path, 'shop')
    for (const file of ['outside/secret.md', 'outside/a.md', 'shop/secrets/a.md', 'shop/secrets/x.md', 'shop/.env', 'shop/keys/id_rsa', 'shop/keys/a.pem', 'shop/.git/config', 'shop/.papa-yu/project.json', 'state/journal/x.md']) await folder.write(file, `${CANARY} ${file}`)
    for (const file of ['src/a.md', 'real/a.md', 'a.md', 'é.md', 'x.md', 'flip/a.md', 'flip.md']) await folder.write(`shop/${file}`, 'plain')
    await Promise.all([
      symlink('../outside', join(root, 'out')), symlink('/', join(root, 'root')), symlink('loop', join(root, 'loop')), symlink('..', join(root, 'up')), symlink('.env', join(root, 'env.md')), symlink('../state', join(root, 'kept')),
      link(join(root, '.env'), join(root, 'hard.md')), link(join(folder.path, 'outside/secret.md'), join(root, 'hardout.md'))
    ])
    assert.equal(spawnSync('mkfifo', [join(root, 'fifo.md')]).status, 0)
  })
  after(() => folder.remove())

  /** What nobody may touch, with permissions and bytes. */
  async function forbidden (): Promise<unknown> {
    const all = await treeOf(folder.path)
    return Object.fromEntries(Object.entries(all).filter(([name]) => /^(?:outside|state)/.test(name) || isProtected(name)))
  }

  async function read (given: readonly string[]): Promise<string> {
    const place = { files: new WorkspaceFiles({ root, hidden: [join(folder.path, 'state')] }), state: join(folder.path, 'state/user'), journal: new Journal(join(folder.path, 'journal')), session: 'S', owner: '', logs: new Map(given.map(one => [one, one])), signal: AbortSignal.timeout(60_000) }
    const answers: JsonObject[] = []
    for (const one of given) {
      for (const request of [{ type: 'read_file', path: one }, { type: 'logs', source: one }, { type: 'preview', change: { do: { actions: [{ kind: 'DELETE_FILE', path: one }] } } }] as JsonObject[]) answers.push(...await fulfil([request], place))
    }
    return JSON.stringify(answers.filter(({ type }) => type !== 'missing'))
  }

  async function write (given: readonly string[], run: string): Promise<void> {
    const files = new WorkspaceFiles({ root, hidden: [join(folder.path, 'state')] })
    for (const [index, one] of given.entries()) {
      // What is refused here is refused there too, and takes ten times as long.
      if (await files.resolve(one).catch(() => undefined) === undefined && index % 10 !== 0) continue
      const kind = ['CREATE_FILE', 'UPDATE_FILE', 'CREATE_DIR', 'DELETE_FILE', 'DELETE_DIR'][index % 5] as string
      const change = { do: { actions: [{ kind, path: one, content: 'written' }], bases: {}, eol: 'keep' } }
      await applyChange({ files, journal: join(folder.path, 'journal'), session: run, effect: `${index}.0`, change, signal: AbortSignal.timeout(60_000) })
    }
  }

  property('reads nothing outside or protected', 10_000, async given => {
    const answers = await read(given.sample(path))
    given.wasOfUse(answers.split('plain').length - 1, 0.03)
    assert.doesNotMatch(answers, new RegExp(CANARY))
  })

  it('finds nothing outside or protected', async () => {
    const [block] = await fulfil([{ type: 'search', query: CANARY }], { files: new WorkspaceFiles({ root }), state: folder.path, journal: new Journal(join(folder.path, 'journal')), session: 'S', owner: '', logs: new Map(), signal: AbortSignal.timeout(60_000) })
    assert.deepEqual(block?.['hits'], [])
  })

  it('reads and writes nothing outside or protected while folders and files are exchanged for links', async () => {
    const before = await forbidden()
    // A process of its own, so that it comes between any two calls.
    const swapper = spawn(process.execPath, ['-e', SWAPPER, root], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(swapper.stdout, 'data')
    try {
      const racing = Array.from({ length: 1500 }, (_, index) => ['flip/a.md', 'flip.md', 'flip/new.md', 'flip/deep/x.md', 'flip/secret.md'][index % 5] as string)
      const reading = read(racing)
      await write(racing.slice(0, 100), 'race')
      assert.doesNotMatch(await reading, new RegExp(CANARY))
      const searched = await fulfil(Array.from({ length: 50 }, () => ({ type: 'search', query: CANARY })), { files: new WorkspaceFiles({ root }), state: folder.path, journal: new Journal(join(folder.path, 'journal')), session: 'S', owner: '', logs: new Map(), signal: AbortSignal.timeout(60_000) })
      assert.doesNotMatch(JSON.stringify(searched.map(({ hits }) => hits ?? null)), new RegExp(CANARY))
    } finally {
      swapper.kill('SIGKILL')
      await once(swapper, 'exit')
    }
    assert.deepEqual(await forbidden(), before)
  })

  property('writes and deletes nothing outside or protected', 10_000, async given => {
    const before = await forbidden()
    await write(given.sample(path), 'paths')
    assert.deepEqual(await forbidden(), before)
  })
})

/** Puts a folder or a file, and links to what is outside, in each other's place, as fast as it can. */
const SWAPPER = `
const { renameSync, symlinkSync, rmSync } = require('node:fs')
const { join } = require('node:path')
const root = process.argv[1]
const at = name => join(root, '..', name)
symlinkSync(join(root, '..', 'outside'), at('link-folder'))
symlinkSync(join(root, '..', 'outside', 'secret.md'), at('link-file'))
process.stdout.write('ready')
for (;;) {
  try {
    renameSync(join(root, 'flip'), at('real-folder')); renameSync(at('link-folder'), join(root, 'flip'))
    renameSync(join(root, 'flip.md'), at('real-file')); renameSync(at('link-file'), join(root, 'flip.md'))
  } catch {}
  try {
    renameSync(join(root, 'flip'), at('link-folder')); renameSync(at('real-folder'), join(root, 'flip'))
    renameSync(join(root, 'flip.md'), at('link-file')); renameSync(at('real-file'), join(root, 'flip.md'))
  } catch {}
}
`
