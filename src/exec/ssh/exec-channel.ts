import { type Client, type ClientChannel, type ExecOptions } from 'ssh2'
import { ExecutorError } from '../executor.ts'

/** The longest wait for a remote machine's answer to the request to run a command, in ms. */
const ANSWER = 10_000

/**
 * Begins a command on a remote machine, over a channel of an SSH connection.
 * @param onOpen adds listeners to the channel at once, since a channel can end in the same packet in which it begins
 * @returns the result of `onOpen`; `undefined` when the connection is gone, or no answer came in time: then the command has perhaps begun
 * @param options options of the channel, which by default has no terminal
 * @throws ExecutorError when the machine refuses the command
 */
export async function openExecChannel<T> (
  client: Client,
  command: string,
  onOpen: (channel: ClientChannel) => T,
  options: ExecOptions = {}
): Promise<T | undefined> {
  return await new Promise((resolve, reject) => {
    const giveUp = (): void => { settle(() => { resolve(undefined) }) }
    const timer = setTimeout(giveUp, ANSWER)
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      client.off('close', giveUp)
      end()
    }
    client.once('close', giveUp)
    try {
      client.exec(command, options, (error, channel) => {
        if (error === undefined) {
          const opened = onOpen(channel)
          settle(() => { resolve(opened) })
          // When the connection breaks, ssh2 reports this error first, and then that the connection is closed. The command has perhaps begun then,
          // so this error waits until the close is handled.
        } else setImmediate(() => { settle(() => { reject(new ExecutorError('TARGET_UNREACHABLE', `the command was refused: ${error.message}`)) }) })
      })
    } catch (error) {
      // ssh2 throws at once when the connection is closed already: nothing was sent.
      settle(() => { reject(new ExecutorError('TARGET_UNREACHABLE', (error as Error).message)) })
    }
  })
}
