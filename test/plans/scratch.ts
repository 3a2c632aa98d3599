import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type AtEnd } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const run = promisify(execFile)

/** The profile of schema 1, as examples/plans/papayu.yaml has it. */
export const PAPAYU = { schema: 1, language: 'ru', confirm: 'deletions', repair: { rounds: 0 }, commit: 'never' }

/** A repository with a failing test, and what a service needs to plan in it without a model. */
export interface Scratch {
  /** Of the workspace `shop`. */
  readonly path: string
  readonly environment: Readonly<Record<string, string>>
  /** All files but those of git, with permissions, as they are now. */
  tree (): Promise<Readonly<Record<string, string>>>
  read (path: string): Promise<string>
  write (path: string, text: string): Promise<void>
}

/** The example's project in a repository of its own. @param replies go before those of the example @param profiles beside or in place of those of schema 1 */
export async function createScratch (t: AtEnd, replies = '', profiles: Readonly<Record<string, object>> = {}): Promise<Scratch> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const path = join(folder.path, 'shop')
  await cp('examples/shop', path, { recursive: true })
  await run('git', ['init', '-q', path])
  await folder.write('operator.yaml', 'workspaces:\n  shop: { path: shop, checks: { test: node test/price.test.js } }\n  other: { path: shop/src }\ntargets:\n  shop: { type: local, workspace: shop }\n')
  await folder.write('replies.yaml', `${replies}\n${await readFile('examples/demo/replies.yaml', 'utf8')}`)
  await folder.write('store/plans/default.yaml', JSON.stringify(PAPAYU))
  await folder.write('store/plans/careful.yaml', JSON.stringify({ ...PAPAYU, prompt: 'Меняй как можно меньше. Не трогай тесты.', checks: ['test'], limits: { max_actions: 3 } }))
  await folder.write('store/plans/careless.yaml', JSON.stringify({ ...PAPAYU, description: 'Runs no checks.', checks: [] }))
  for (const [name, profile] of Object.entries(profiles)) await folder.write(`store/plans/${name}.yaml`, JSON.stringify(profile))
  // What an undo has to bring back: an odd mode and odd line ends.
  const price = join(path, 'src/price.js')
  await writeFile(price, (await readFile(price, 'utf8')).replaceAll('\n', '\r\n'))
  await chmod(price, 0o750)
  return {
    path,
    environment: { STORE_DIR: join(folder.path, 'store'), OPERATOR_FILE: join(folder.path, 'operator.yaml'), STATE_DIR: join(folder.path, 'state'), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml') },
    async tree () {
      const names = await readdir(path, { recursive: true, withFileTypes: true })
      const files = names.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name)).filter(file => !file.includes('/.git/'))
      return Object.fromEntries(await Promise.all(files.sort().map(async file => [file.slice(path.length + 1), `${((await stat(file)).mode & 0o777).toString(8)} ${await readFile(file, 'utf8')}`] as const)))
    },
    read: file => readFile(join(path, file), 'utf8'),
    async write (file, text) {
      await mkdir(dirname(join(path, file)), { recursive: true })
      await writeFile(join(path, file), text)
    }
  }
}

/** Whether the project's own test passes. */
export async function isGreen ({ path }: Scratch): Promise<boolean> {
  // A test runner inside of one would report to it.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env
  return await run(process.execPath, ['test/price.test.js'], { cwd: path, env }).then(() => true, () => false)
}

/** Replies of a model that wants something deleted. */
export function deleting (kind: 'DELETE_FILE' | 'DELETE_DIR', path: string): string {
  return `
- system: режим APPLY
  last: удали
  reply: '{ "actions": [{ "kind": "${kind}", "path": "${path}" }], "summary": "Удалено." }'
`
}

/** Replies of a model that wants `src/price.js` deleted. */
export const DELETING = deleting('DELETE_FILE', 'src/price.js')

/** Replies of a model that creates a file. */
export function creating (path: string): string {
  return `
- system: режим APPLY
  last: добавь
  reply: '{ "actions": [{ "kind": "CREATE_FILE", "path": "${path}", "content": "x\\n" }], "summary": "Добавлено." }'
- last: Ответ не принят
  reply: '{ "actions": [{ "kind": "CREATE_FILE", "path": "${path}", "content": "x\\n" }], "summary": "Добавлено." }'
`
}

/** Replies of a model that wants something remembered, and nothing else. */
export const REMEMBERING = `
- system: режим APPLY
  last: запомни
  reply: '{ "actions": [], "memory_patch": { "project.default_test_command": "npm test" } }'
`
