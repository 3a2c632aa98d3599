import { randomBytes } from 'node:crypto'
import { type Client, type ClientChannel } from 'ssh2'
import { Captured } from '../captured.ts'
import { ExecutorError, type Ran, type RunOptions } from '../executor.ts'
import { openExecChannel } from './exec-channel.ts'
import { MarkedOutput } from './marked-output.ts'
import { killRemotely } from './remote-kill.ts'
import { keptCommand } from './remote-scripts.ts'

/**
 * How long a channel stays silent after its command has ended before the service closes it, in ms. A process that the command left behind can keep
 * the channel open.
 */
const REST = 1000

/** How a remote shell ended: the exit code, or the signal that ended the shell. */
interface Exit {
  readonly code: number | null
  readonly signal: string | undefined
}

/** The reason why the wait for a command is over: the command ended, its time limit was reached, or the caller cancelled it. */
type Cause = 'ended' | 'timeout' | 'cancelled'

/**
 * Runs a command on a remote machine over an SSH connection. The outcome `lost` means that the connection broke, or that nobody has
 * confirmed the end of the command.
 * @throws ExecutorError when no command was run
 */
export async function runOverSsh (client: Client, command: string, { cwd, ...options }: RunOptions): Promise<Ran> {
  const started = performance.now()
  const mark = `aps-${randomBytes(16).toString('hex')}`
  const marker = randomBytes(8).toString('hex')
  const captured = new Captured(options)
  const output = new MarkedOutput(mark, bytes => { captured.append('stdout', bytes) })
  const ranAs = (end: Omit<Ran, 'stdout' | 'stderr' | 'durationMs' | 'cwd'>): Ran => {
    const folder = output.finish() ?? cwd
    return { ...end, ...captured.texts(), ...(folder === undefined ? {} : { cwd: folder }), durationMs: Math.round(performance.now() - started) }
  }

  let exit: Exit | undefined
  const opened = await openExecChannel(client, keptCommand(command, marker, cwd), channel => {
    // The channel's input stays open, because the supervising script ends the command when the input ends.
    channel.write(`${mark}\n`)
    channel.once('exit', (code: number | null, signal?: string) => { exit = { code, signal } })
    channel.on('data', (bytes: Buffer) => { output.append(bytes) })
    channel.stderr.on('data', (bytes: Buffer) => { captured.append('stderr', bytes) })
    return { channel, closed: closeOf(client, channel) }
  })
  if (opened === undefined) return ranAs({ outcome: 'lost', exitCode: null })
  const { channel, closed } = opened
  const cause = await Promise.race([closed, wantedNoMore(options, started, closed)])
  if (cause !== 'ended') {
    const pid = Number(output.begun)
    const signal = Number.isSafeInteger(pid) && pid > 1 ? await killRemotely(client, pid, marker, mark) : undefined
    // The command's last output is perhaps still on its way.
    if (signal !== undefined) await Promise.race([closed, silence(channel)])
    channel.destroy()
    return ranAs(signal === undefined ? { outcome: 'lost', exitCode: null } : { outcome: cause, exitCode: null, signal })
  }
  channel.destroy()
  if (exit === undefined) return ranAs({ outcome: 'lost', exitCode: null })
  if (output.begun === 'nowhere') throw new ExecutorError('FOLDER_INVALID', `expected a folder of the target to begin in, got ${JSON.stringify(cwd)}`)
  if (output.begun === undefined) {
    throw new ExecutorError(
      'TARGET_UNREACHABLE',
      `the login shell did not begin the command: ${`${output.aside} ${captured.texts().stderr}`.trim().slice(0, 200)}`
    )
  }
  return ranAs({ outcome: 'exited', exitCode: exit.code, ...(exit.signal === undefined ? {} : { signal: exit.signal }) })
}

/** Resolves when a channel or its connection has closed, or when the channel was silent for `REST` ms after its command had ended. */
async function closeOf (client: Client, channel: ClientChannel): Promise<'ended'> {
  await new Promise<void>(resolve => {
    const end = (): void => {
      client.off('close', end)
      resolve()
    }
    channel.once('close', end)
    client.once('close', end)
    channel.once('exit', () => { void silence(channel).then(end) })
  })
  return 'ended'
}

/** Resolves when a channel has been silent for `REST` ms, or has closed. */
async function silence (channel: ClientChannel): Promise<void> {
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, REST)
    for (const stream of [channel, channel.stderr]) stream.on('data', () => { timer.refresh() })
    channel.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Waits until the command's time limit is reached, or until the caller cancels the command. @returns which of the two has happened */
async function wantedNoMore ({ timeout, signal }: RunOptions, started: number, closed: Promise<unknown>): Promise<Exclude<Cause, 'ended'>> {
  return await new Promise(resolve => {
    const cancel = (): void => { resolve('cancelled') }
    const timer = setTimeout(() => { resolve('timeout') }, Math.max(timeout - (performance.now() - started), 0))
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    void closed.then(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
    })
  })
}
