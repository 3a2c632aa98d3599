import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { type Readable } from 'node:stream'

/** A Redis that runs somewhere and can be hurt. */
export interface RedisProcess {
  /** Starts it, on the same port, empty. Resolves when the process runs, not when it answers. */
  start (): Promise<void>
  /** Ends it at once, as SIGKILL does. */
  kill (): Promise<void>
  /** Freezes it, as SIGSTOP does. */
  pause (): Promise<void>
  /** Lets a frozen one go on. */
  resume (): Promise<void>
  /** Whether it has ended by itself, as after a port that was taken. */
  hasEnded (): boolean
  /** Ends it and removes whatever it left. */
  remove (): Promise<void>
}

/**
 * The shell stays between the test and Redis: when the test's process ends, however it ends, its pipe closes, `read` returns,
 * and Redis and its folder go with it. When Redis ends, the shell cleans up and ends too.
 */
const GUARD = `
folder=$(mktemp -d)
trap '' INT TERM HUP
exec 3<&0
printf '%s\\n' "$CONFIGURATION" > "$folder/redis.conf"
redis-server "$folder/redis.conf" --dir "$folder" "$@" >/dev/null 2>&1 3<&- &
redis=$!
{ read -r _ <&3; kill -9 $redis; } &
reader=$!
echo $redis
wait $redis 2>/dev/null
kill -9 $reader
rm -rf "$folder"
`

/** Whether a redis-server is installed here. */
export function isRedisInstalled (): boolean {
  return spawnSync('redis-server', ['--version']).status === 0
}

/**
 * The installed redis-server as a process of its own, in a folder of its own.
 * @param settings as of the command line: `['--cluster-enabled', 'yes']`
 * @param configuration the text of a redis.conf, for what no command line can say
 */
export function createRedisProcess (port: number, settings: readonly string[], configuration = ''): RedisProcess {
  let guard: ChildProcess | undefined
  let processId = 0

  const hasEnded = (): boolean => guard === undefined || guard.exitCode !== null || guard.signalCode !== null

  async function kill (): Promise<void> {
    if (guard === undefined || hasEnded()) return
    const ended = once(guard, 'exit')
    process.kill(processId, 'SIGKILL')
    await ended
  }

  return {
    async start () {
      await kill()
      guard = spawn('sh', ['-c', GUARD, 'redis-guard', '--port', String(port), ...settings], { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, CONFIGURATION: configuration } })
      const [line] = await once(guard.stdout as Readable, 'data') as [Buffer]
      processId = Number(line.toString())
    },
    kill,
    async pause () { process.kill(processId, 'SIGSTOP') },
    async resume () { process.kill(processId, 'SIGCONT') },
    hasEnded,
    remove: kill
  }
}
