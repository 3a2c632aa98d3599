import { chmod, cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type TestContext } from 'node:test'
import { type ExamplePorts, freeExamplePorts, startExampleTools } from '../helpers/example-tool-server.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { openShell, type PastingShell } from './pasting-shell.ts'

/** Where the pages say that a service is. */
const ADDRESS = 'http://127.0.0.1:8080'

/** What `npm start` gives the service. */
const AS_STARTED = { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'examples/demo/replies.yaml', OPERATOR_FILE: 'examples/operator.yaml', ALLOW_ROOT: 'true' }

/** What is never written by a command of a page. */
const LINKED = ['dist', 'node_modules', 'package.json', 'prompts.json', 'jsonschema', 'scripts', 'src', 'deploy']

const TOOLS = ['codebase.lookup_ref', 'owners.find', 'mcp.project.outline']

/** A checkout of a reader's, with a service and the tools of the examples running. */
export interface CleanCheckout {
  readonly folder: TemporaryFolder
  /** Pastes commands; in them, and in what they print, the service is where the pages say. */
  paste (script: string): ReturnType<PastingShell['paste']>
}

type AtEnd = Pick<TestContext, 'after'>

/** A checkout in which `npm start` and `npm run example:tools` run. Its service keeps no state in it: a reader stops it before going on without. */
export async function checkoutOfExamples (t: AtEnd): Promise<CleanCheckout> {
  const ports = await freeExamplePorts()
  const folder = await createCheckout(t, ports)
  await startExampleTools(t, ports)
  const { url } = await startProcess(t, { ...AS_STARTED, STORE_DIR: 'examples', STATE_DIR: join(folder.path, 'spare', 'state'), RENDER_TIMEOUT_MS: '20000' }, folder.path)
  await waitFor('the tools to be prepared', async () => {
    const states = await Promise.all(TOOLS.map(async id => (await (await fetch(`${url}/api/tools/${id}`)).json() as { preparation: string }).preparation))
    return states.every(state => state === 'ready')
  }, 30_000)
  return pasteInto(t, folder, url, 0)
}

/** A checkout whose service has an empty Redis. */
export async function checkoutOverRedis (t: AtEnd): Promise<CleanCheckout> {
  const redis = await startRedisServer()
  t.after(() => redis.stop())
  const folder = await createCheckout(t, await freeExamplePorts())
  const { url } = await startProcess(t, { REDIS_URL: redis.url, SESSION_STORE: 'memory' }, folder.path)
  return pasteInto(t, folder, url, redis.port)
}

function pasteInto (t: AtEnd, folder: TemporaryFolder, url: string, redisPort: number): CleanCheckout {
  const environment = { PATH: `${join(folder.path, 'spare')}:${process.env['PATH'] ?? ''}`, HOME: join(folder.path, 'spare'), SERVICE_URL: url, REDIS_PORT: String(redisPort) }
  const shell = openShell(t, folder.path, join(folder.path, 'spare'), environment)
  return {
    folder,
    async paste (script) {
      const { printed, status } = await shell.paste(script.replaceAll(ADDRESS, url))
      return { printed: printed.replaceAll(url, ADDRESS), status }
    }
  }
}

async function createCheckout (t: AtEnd, ports: ExamplePorts): Promise<TemporaryFolder> {
  const folder = await createTemporaryFolder()
  t.after(() => folder.remove())
  for (const name of LINKED) await symlink(resolve(name), join(folder.path, name))
  await cp('examples', join(folder.path, 'examples'), { recursive: true })
  for (const entry of await readdir(join(folder.path, 'examples'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const text = await readFile(path, 'utf8')
    if (/:809[01]/.test(text)) await writeFile(path, text.replaceAll(':8090', `:${ports.http}`).replaceAll(':8091', `:${ports.grpc}`))
  }
  for (const [name, script] of Object.entries(PROGRAMS)) {
    await folder.write(`spare/${name}`, script)
    await chmod(join(folder.path, 'spare', name), 0o755)
  }
  return folder
}

/** npx takes a second for each call, and the service and its Redis have ports of their own. */
const PROGRAMS: Readonly<Record<string, string>> = {
  npx: `#!/bin/bash
[ "$1" = aps ] || [ "$1" = ai-prompt-shell ] || exit 127
case "$2" in agent|skill|plan) ;; *) export APS_URL="\${APS_URL-$SERVICE_URL}" ;; esac
exec ${process.execPath} dist/cli/aps.js "\${@:2}"
`,
  'redis-cli': `#!/bin/bash
PATH="\${PATH#*:}" exec redis-cli -p "$REDIS_PORT" "$@"
`
}
