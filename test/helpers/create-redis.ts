import { spawnSync } from 'node:child_process'
import { createRedisContainer } from './redis-container.ts'
import { createRedisProcess, isRedisInstalled, type RedisProcess } from './redis-process.ts'

/**
 * Redis as this machine can have it: installed, else in a container.
 * @param settings as of the command line: `['--cluster-enabled', 'yes']`
 * @param configuration the text of a redis.conf, for what no command line can say
 * @throws Error when this machine has neither: tests of Redis are never skipped silently
 */
export async function createRedis (port: number, settings: readonly string[], configuration = ''): Promise<RedisProcess> {
  if (isRedisInstalled()) return createRedisProcess(port, settings, configuration)
  if (spawnSync('docker', ['info'], { timeout: 10_000 }).status === 0) return await createRedisContainer(port, settings, configuration)
  throw new Error('These tests need a real Redis, and this machine can start none: install redis-server ("apt-get install redis-server", "brew install redis"), or start Docker.')
}
