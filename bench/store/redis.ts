import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

/** How many keys are written in one round trip. */
const BATCH = 5000

/** A redis-server of a benchmark's own. */
export interface BenchRedis {
  readonly url: string
  readonly client: Redis
  /** Writes many keys. */
  fill (entries: Iterable<readonly [key: string, value: string]>): Promise<void>
  /** How many commands it has run since the last call, by name, without heartbeats and what this function needs. */
  commands (): Promise<ReadonlyMap<string, number>>
  stop (): Promise<void>
}

/** Starts the installed redis-server on a free port. */
export async function startRedis (): Promise<BenchRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-redis-'))
  const port = await freePort()
  const server: ChildProcess = spawn('redis-server', ['--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no'], { stdio: 'ignore' })
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: null })
  client.on('error', () => {})
  await client.ping()
  return {
    url: `redis://127.0.0.1:${port}`,
    client,
    async fill (entries) {
      let batch: string[] = []
      for (const [key, value] of entries) {
        batch.push(key, value)
        if (batch.length < 2 * BATCH) continue
        await client.mset(batch)
        batch = []
      }
      if (batch.length > 0) await client.mset(batch)
    },
    async commands () {
      const stats = await client.info('commandstats')
      await client.config('RESETSTAT')
      const calls = Array.from(stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm), ([, name, count]) => [name as string, Number(count)] as const)
      return new Map(calls.filter(([name]) => !['ping', 'info', 'config|resetstat'].includes(name)))
    },
    async stop () {
      client.disconnect()
      server.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
