import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

/** Writes the name of every module that is imported into a file. */
const HOOKS = `import { appendFileSync } from 'node:fs'
export async function resolve (specifier, context, next) {
  appendFileSync(process.env.IMPORTED, specifier + '\\n')
  return await next(specifier, context)
}
`

/** Packages that only some services ever need. */
const LATE = /modelcontextprotocol|dotprompt|picoschema/

describe('The service', () => {
  it('loads nothing of MCP and of Dotprompt before it is used', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('hooks.mjs', HOOKS)
    await folder.write('begin.mjs', 'import { register } from \'node:module\'\nregister(new URL(\'hooks.mjs\', import.meta.url))\n')
    await folder.write('store/templates/greet.json', '"Hello"')
    const imported = join(folder.path, 'imported')
    const late = async () => (await readFile(imported, 'utf8')).split('\n').filter(name => LATE.test(name))
    const { url } = await startProcess(t, { STORE_DIR: join(folder.path, 'store'), IMPORTED: imported, NODE_OPTIONS: `--import ${pathToFileURL(join(folder.path, 'begin.mjs')).href}`, STATE_DIR: join(folder.path, 'state'), ALLOW_ROOT: 'true' })
    const post = async (path: string, body: object) => (await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body: JSON.stringify(body) })).status
    assert.equal(await post('/api/render/prompts/greet', {}), 200)
    assert.match(await readFile(imported, 'utf8'), /process-/)
    assert.deepEqual(await late(), [])
    assert.equal(await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'prompts/list', params: {} }), 200)
    assert.ok((await late()).length > 0)
  })
})

describe('The command line', () => {
  it('loads no package before a command needs one', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('hooks.mjs', HOOKS)
    await folder.write('begin.mjs', 'import { register } from \'node:module\'\nregister(new URL(\'hooks.mjs\', import.meta.url))\n')
    const imported = join(folder.path, 'imported')
    const begin = pathToFileURL(join(folder.path, 'begin.mjs')).href
    await promisify(execFile)(process.execPath, ['--import', begin, 'dist/cli/aps.js', '--version'], { env: { PATH: process.env['PATH'], IMPORTED: imported } })
    const names = (await readFile(imported, 'utf8')).trim().split('\n')
    assert.ok(names.length > 1)
    assert.deepEqual(names.filter(name => !/^(?:node:|file:|\.|\/)/.test(name)), [])
  })
})
