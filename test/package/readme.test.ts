import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openShell } from '../docs/pasting-shell.ts'
import { commandsIn, type PrintedCommands } from '../docs/printed-commands.ts'
import { assertPrinted } from '../docs/printed-output.ts'
import { freePort } from '../helpers/free-port.ts'
import { isRegistryReachable, openRegistry, packInto } from '../helpers/package-registry.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

type Environment = Readonly<Record<string, string>>

describe('the README', () => {
  it('has at most 150 lines', async () => {
    assert.ok((await readFile('README.md', 'utf8')).trimEnd().split('\n').length <= 150)
  })

  it('leads from an empty folder to a rendered prompt, a live edit, a named mistake, an answer and an agent, and prints what it shows', async t => {
    if (!await isRegistryReachable()) return t.skip('the registry of npm cannot be reached')
    const { path, remove } = await createTemporaryFolder()
    t.after(remove)
    const port = String(await freePort())
    const environment = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', npm_config_registry: await openRegistry(t, await packInto(path)), PORT: port, APS_URL: `http://127.0.0.1:${port}`, DRAIN_DELAY_MS: '0' }
    const app = join(path, 'app')
    await mkdir(app)
    const shell = openShell(t, app, path, environment)
    let service: ChildProcess | undefined
    for (const command of commandsIn('README.md').filter(({ notRun }) => notRun === undefined)) {
      if (command.script.includes('aps agent')) {
        await stop(service)
        await shell.paste('npx ai-prompt-shell init ../desk --with agent')
        await startToolServer(t, join(app, 'desk'))
        service = await serve(t, join(app, 'desk'), environment, '')
      }
      if (isServe(command)) service = await serve(t, join(app, 'hello'), environment, command.output ?? '')
      else {
        const { printed } = await shell.paste(command.script.replaceAll(':8080', `:${port}`))
        assertPrinted(withoutTimes(printed), withoutTimes(command.output ?? ''), command.isJson)
      }
    }
    await stop(service)
  })
})

function isServe ({ script }: PrintedCommands): boolean {
  return script.trim() === 'npx ai-prompt-shell serve'
}

/** Starts the service as the README does, and compares what it says. */
async function serve (t: TestContext, cwd: string, environment: Environment, shown: string): Promise<ChildProcess> {
  const child = startIn(t, cwd, 'npx', ['ai-prompt-shell', 'serve'], environment)
  let printed = ''
  child.stdout?.on('data', (chunk: Buffer) => { printed += chunk.toString() })
  await waitFor('the service', () => printed.includes('the model is'))
  if (shown !== '') assertPrinted(printed.replaceAll(`:${environment['PORT']}`, ':8080'), shown, false)
  return child
}

/** The tool server of the agent, at a port of the test's own. */
async function startToolServer (t: TestContext, cwd: string): Promise<void> {
  const port = String(await freePort())
  for (const file of ['tool-server.js', 'tools/team/find.yaml']) await writeFile(join(cwd, file), (await readFile(join(cwd, file), 'utf8')).replaceAll('8090', port))
  const child = startIn(t, cwd, process.execPath, ['tool-server.js'], {})
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
}

/** In a process group of its own, since npx starts a shell, which starts the program. */
function startIn (t: TestContext, cwd: string, command: string, args: readonly string[], environment: Environment): ChildProcess {
  const child = spawn(command, args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  t.after(() => stop(child))
  return child
}

async function stop (child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  process.kill(-child.pid, 'SIGKILL')
  await once(child, 'exit')
}

/** npm says how long it took, and how many packages this platform needs. */
function withoutTimes (text: string): string {
  return text.replace(/added \d+ packages in \d+\w*/, 'added packages').trimStart()
}
