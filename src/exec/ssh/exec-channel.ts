import { type Client, type ClientChannel, type ExecOptions } from 'ssh2'
import { ExecutorError } from '../executor.ts'

/** For the answer to a request to run something, in ms. */
const ANSWER = 10_000

/**
 * Begins a command on another machine.
 * @param onOpen listens to the channel: its end may come with the same bytes as its beginning
 * @param options of the channel. @default it has no terminal
 * @returns `undefined` when the connection is gone or silent; the command may have begun then
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
          // When the connection has gone, this comes before its end is told.
        } else setImmediate(() => { settle(() => { reject(new ExecutorError('TARGET_UNREACHABLE', `the command was refused: ${error.message}`)) }) })
      })
    } catch (error) {
      // Thrown at once when there is no connection any more: nothing was sent.
      settle(() => { reject(new ExecutorError('TARGET_UNREACHABLE', (error as Error).message)) })
    }
  })
}
