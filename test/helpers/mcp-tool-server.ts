import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type TestContext } from 'node:test'

/** The MCP project's own test server, as a command: it exercises all of the protocol. */
export const everythingServer = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** Starts it with streamable HTTP on a free port; it ends with the test. */
export async function startEverythingServer (test: Pick<TestContext, 'after'>): Promise<string> {
  const port = await freePort()
  const child = spawn(process.execPath, [everythingServer, 'streamableHttp'], { env: { PATH: process.env['PATH'], PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
  test.after(() => new Promise<void>(resolve => {
    child.on('exit', () => resolve())
    child.kill('SIGKILL')
  }))
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => { if (chunk.includes('listening')) resolve() })
    child.on('exit', code => reject(new Error(`the server ended with ${code}`)))
  })
  return `http://127.0.0.1:${port}/mcp`
}

/** The server takes its port from the environment only, and cannot be asked which one it got. */
async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}
