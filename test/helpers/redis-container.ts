import { type RedisProcess } from './redis-process.ts'

const IMAGE = 'redis:7.4-alpine'

/**
 * Redis in a container, for machines with Docker and without redis-server. The port of the host is fixed, so that a
 * restarted container is found where it was; testcontainers removes the container also when the tests crash.
 */
export async function createRedisContainer (port: number, settings: readonly string[]): Promise<RedisProcess> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers')
  const runtime = await getContainerRuntimeClient()
  const started = await new GenericContainer(IMAGE)
    .withExposedPorts({ container: 6379, host: port })
    .withCommand(['redis-server', ...settings])
    .start()
  const container = runtime.container.getById(started.getId())

  return {
    async start () {
      const { State: state } = await container.inspect()
      if (!state.Running) await container.start()
    },
    async kill () { await container.kill({ signal: 'SIGKILL' }) },
    async pause () { await container.pause() },
    async resume () { await container.unpause() },
    hasEnded: () => false,
    async remove () { await container.remove({ force: true, v: true }) }
  }
}
