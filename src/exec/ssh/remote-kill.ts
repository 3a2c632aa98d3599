import { type Client, type ClientChannel } from 'ssh2'
import { openExecChannel } from './exec-channel.ts'
import { killingScript } from './remote-scripts.ts'

/** For all of it, in ms; the script on the other side takes up to 4 s. */
const KILL = 8000

/**
 * Ends a process group of another machine over a channel of its own. Many servers ignore a signal that is sent over the
 * command's channel (https://github.com/mscdex/ssh2/issues/1510).
 * @returns the signal that ended the group; `undefined` when no signal was confirmed
 */
export async function killRemotely (client: Client, pid: number, mark: string): Promise<'SIGTERM' | 'SIGKILL' | undefined> {
  const answer = await openExecChannel(client, killingScript(pid), channel => answerOf(channel, mark)).catch(() => undefined)
  const [, sent] = new RegExp(`^${mark} dead (TERM|KILL)$`, 'm').exec(await answer?.text ?? '') ?? []
  return sent === undefined ? undefined : `SIG${sent as 'TERM' | 'KILL'}`
}

/**
 * What a channel says until it closes, or nothing when that takes too long. The promise is in an object, since the caller
 * does not wait for it yet.
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
