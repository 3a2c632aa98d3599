import { platform } from 'node:process'
import { type RedisProcess } from './redis-process.ts'

const IMAGE = 'redis:7-bookworm'
const STARTUP_TIMEOUT = 60_000

/** Writes the text of a redis.conf and becomes Redis. */
const START = 'printf "%s\\n" "$CONFIGURATION" > /tmp/redis.conf; exec redis-server /tmp/redis.conf "$@"'

/**
 * Why containers cannot form a cluster here, `undefined` where they can. Its nodes tell each other and their clients the
 * addresses that they see themselves, which are right on the host's network only; Docker Desktop has that in a machine of its own.
 */
export function whyContainersCannotMeet (): string | undefined {
  return platform === 'linux' ? undefined : 'Redis in containers cannot form a cluster behind mapped ports: install redis-server ("brew install redis")'
}

/**
 * Redis in a container, for machines with Docker and without redis-server. Its port is the host's, so that a restarted
 * container is found where it was; testcontainers removes the container also when the tests crash.
 */
export async function createRedisContainer (port: number, settings: readonly string[], configuration: string): Promise<RedisProcess> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers')
  const runtime = await getContainerRuntimeClient()
  const image = new GenericContainer(IMAGE).withEnvironment({ CONFIGURATION: configuration }).withStartupTimeout(STARTUP_TIMEOUT)
  const onHost = whyContainersCannotMeet() === undefined
  const inside = onHost ? port : 6379
  const placed = onHost ? image.withNetworkMode('host') : image.withExposedPorts({ container: inside, host: port })
  const started = await placed.withCommand(['sh', '-c', START, 'redis', '--port', String(inside), '--bind', onHost ? '127.0.0.1' : '0.0.0.0', '--protected-mode', 'no', ...settings]).start()
  const container = runtime.container.getById(started.getId())

  return {
    async start () {
      const { State: state } = await container.inspect()
      if (!state.Running) await container.start()
    },
    async kill () { await container.kill({ signal: 'SIGKILL' }) },
    async pause () { await container.pause() },
    async resume () { await container.unpause() },
    // Whoever waits for an answer gives up in time: whether the container runs can only be asked for.
    hasEnded: () => false,
    async remove () { await container.remove({ force: true, v: true }) }
  }
}
