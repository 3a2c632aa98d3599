import { type Client, type ClientChannel } from 'ssh2'
import { openExecChannel } from './exec-channel.ts'
import { killingScript } from './remote-scripts.ts'

/** The time limit for ending processes on a remote machine, in ms. The remote script itself takes up to 4 s. */
const KILL = 8000

/**
 * Ends a process group on a remote machine, and all that has its marker, over a new channel, since many servers ignore a signal on the command's own channel
 * (https://github.com/mscdex/ssh2/issues/1510).
 * @returns the signal that ended the group; `undefined` when no end was confirmed
 */
export async function killRemotely (client: Client, pid: number, marker: string, mark: string): Promise<'SIGTERM' | 'SIGKILL' | undefined> {
  const answer = await openExecChannel(client, killingScript(pid, marker), channel => answerOf(channel, mark)).catch(() => undefined)
  const [, sent] = new RegExp(`^${mark} dead (TERM|KILL)$`, 'm').exec(await answer?.text ?? '') ?? []
  return sent === undefined ? undefined : `SIG${sent as 'TERM' | 'KILL'}`
}

/**
 * Writes the mark (a secret text that the remote script repeats in its answer) to a channel, and collects the channel's output until it closes;
 * gives '' when that takes too long. The promise is in an object, so that an async caller can return it without awaiting it.
 */
export function answerOf (channel: ClientChannel, mark: string): { readonly text: Promise<string> } {
  const text = new Promise<string>(resolve => {
    let said = ''
    const timer = setTimeout(() => {
      channel.destroy()
      resolve('')
    }, KILL)
    channel.write(`${mark}\n`)
    channel.stderr.resume()
    channel.on('data', (bytes: Buffer) => { said = (said + bytes.toString()).slice(-1000) })
    channel.once('close', () => {
      clearTimeout(timer)
      resolve(said)
    })
  })
  return { text }
}
