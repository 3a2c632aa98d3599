import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext } from 'node:test'
import { freePort } from './free-port.ts'
import { createTemporaryFolder } from './temporary-folder.ts'

/** Where the tool server of the examples listens. */
export interface ExamplePorts { readonly http: number, readonly grpc: number }

/** Two free ports for it. */
export async function freeExamplePorts (): Promise<ExamplePorts> {
  return { http: await freePort(), grpc: await freePort() }
}

/** Starts `examples/tool-server` as `npm run example:tools` does, as a process of its own; killed after the test. */
export async function startExampleTools (t: Pick<TestContext, 'after'>, { http, grpc }: ExamplePorts): Promise<void> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/tool-server/main.ts'], {
    env: { PATH: process.env['PATH'], EXAMPLE_HTTP_PORT: String(http), EXAMPLE_GRPC_PORT: String(grpc) },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', line => { if (line.startsWith('MCP')) resolve() })
    child.once('exit', code => { reject(new Error(`the example tool server ended with ${code}`)) })
  })
}

/** A copy of the examples' registrations that points to a tool server on these ports; removed after the test. */
export async function examplesFor (t: Pick<TestContext, 'after'>, { http, grpc }: ExamplePorts): Promise<string> {
  const folder = await createTemporaryFolder()
  t.after(() => folder.remove())
  for (const kind of ['extensions', 'templates', 'environs', 'tools', 'agents', 'skills', 'plans']) {
    await cp(join('examples', kind), join(folder.path, kind), { recursive: true })
  }
  for (const entry of await readdir(folder.path, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replaceAll(':8090', `:${http}`).replaceAll(':8091', `:${grpc}`))
  }
  return folder.path
}
