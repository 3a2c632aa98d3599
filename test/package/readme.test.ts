import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { openShell } from '../docs/pasting-shell.ts'
import { freePort } from '../helpers/free-port.ts'
import { isRegistryReachable, openRegistry, packInto } from '../helpers/package-registry.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

type Environment = Readonly<Record<string, string>>

/** What a new user of the package does beside a served folder, and what is printed. */
const COMMANDS: ReadonlyArray<readonly [string, RegExp]> = [
  ['npx aps prompt render team.greet -p name=Ada', /^Say hello to Ada in one sentence, in a friendly tone\.\n$/],
  ['echo \'"dry"\' > hello/environs/team/tone.json', /^$/],
  ['npx aps prompt render team.greet -p name=Ada', /^Say hello to Ada in one sentence, in a dry tone\.\n$/],
  ['npx aps prompt render team.greet', /^aps: Prompt "team\.greet" needs values that are missing: variables\.name \(.*VARIABLE_MISSING/],
  ['npx aps prompt chat team.greet -p name=Ada', /^Hello, and welcome!\n\d+ tokens in, \d+ out \(script\)\n$/],
  ['printf \'who owns billing\\ny\\n/exit\\n\' | npx aps agent desk --url "$APS_URL"', /Billing belongs to Ada\./],
  ['npx aps token render', /^Token, for the caller:\n {2}aps_\S+\nLine, for API_TOKENS:\n {2}render:render:/]
]

describe('the packed product', () => {
  it('has what its README and its pages link to, but for what only a checkout has', async t => {
    const { path, remove } = await createTemporaryFolder()
    t.after(remove)
    await promisify(execFile)('tar', ['-xzf', await packInto(path), '-C', path])
    const root = join(path, 'package')
    const broken = async (page: string): Promise<string[]> => {
      const text = await readFile(join(root, page), 'utf8')
      const links = Array.from(text.matchAll(/\]\((?!https?:|#)([^)\s#]+)|src="([^"]+)"/g), ([, link, image]) => normalize(join(dirname(page), link ?? image ?? '')))
      return links.filter(link => !existsSync(join(root, link)))
    }
    assert.deepEqual(await broken('README.md'), [])
    const pages = (await readdir(join(root, 'docs'))).filter(file => file.endsWith('.md'))
    const others = (await Promise.all(pages.map(page => broken(`docs/${page}`)))).flat()
    assert.deepEqual(others.filter(link => !/^(?:bench|deploy|openapi|test)\/|^CHANGELOG\.md$|^\.env\.example$|^docs\/(?:images|golden_traces)\//.test(link)), [])
  })

  it('leads from an empty folder to a rendered prompt, a live edit, a named mistake, an answer and an agent', async t => {
    if (!await isRegistryReachable()) return t.skip('the registry of npm cannot be reached')
    const { path, remove } = await createTemporaryFolder()
    t.after(remove)
    const port = String(await freePort())
    const environment = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', npm_config_registry: await openRegistry(t, await packInto(path)), PORT: port, APS_URL: `http://127.0.0.1:${port}`, DRAIN_DELAY_MS: '0' }
    const app = join(path, 'app')
    await mkdir(app)
    // npm would install into a folder above that has one.
    await writeFile(join(app, 'package.json'), '{ "private": true }')
    const shell = openShell(t, app, path, environment)
    for (const command of ['npm install ai-prompt-shell', 'npx aps init hello --with agent']) {
      const { printed, status } = await shell.paste(command)
      assert.equal(status, 0, printed)
    }
    await startToolServer(t, join(app, 'hello'))
    await serve(t, join(app, 'hello'), environment)
    for (const [command, expected] of COMMANDS) {
      // An edit is served a moment after it was made.
      await waitFor(`${command} to print ${expected.source}`, async () => {
        assert.match((await shell.paste(command)).printed, expected)
        return true
      })
    }
  })
})

async function serve (t: TestContext, cwd: string, environment: Environment): Promise<void> {
  const child = startIn(t, cwd, 'npx', ['aps', 'serve'], environment)
  let printed = ''
  child.stdout?.on('data', (chunk: Buffer) => { printed += chunk.toString() })
  await waitFor('the service', () => printed.includes('the model is a SCRIPT: demo\n'))
}

/** The tool server of the agent, at a port of the test's own. */
async function startToolServer (t: TestContext, cwd: string): Promise<void> {
  const port = String(await freePort())
  for (const file of ['tool-server.mjs', 'tools/team/find.yaml']) await writeFile(join(cwd, file), (await readFile(join(cwd, file), 'utf8')).replaceAll('8090', port))
  const child = startIn(t, cwd, process.execPath, ['tool-server.mjs'], {})
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
}

/** In a process group of its own, since npx starts a shell, which starts the program. */
function startIn (t: TestContext, cwd: string, command: string, args: readonly string[], environment: Environment): ChildProcess {
  const child = spawn(command, args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  t.after(async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    process.kill(-child.pid, 'SIGKILL')
    await once(child, 'exit')
  })
  return child
}
