import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, readFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket, connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { type Readable } from 'node:stream'
import ssh2, { type ServerChannel } from 'ssh2'
import { freePort } from './free-port.ts'
import { createTemporaryFolder } from './temporary-folder.ts'

/** Where Debian and most others have it; it must be called by its whole path. */
const SSHD = '/usr/sbin/sshd'

/** Why no sshd can be run here; `false` when one can. */
export const noSshd = existsSync(SSHD) && spawnSync('ssh-keygen', ['-?']).error === undefined ? false : `${SSHD} and ssh-keygen are not installed`

/** A server that accepts one key, and what a target needs to know of it. */
export interface TestSshd {
  readonly port: number
  readonly user: string
  readonly hostKey: string
  /** The private key that is accepted, and one that is not. */
  readonly keyFile: string
  readonly strangerKeyFile: string
  /** Cuts every connection. */
  cut (): void
  stop (): Promise<void>
}

/**
 * A real OpenSSH server on a port of its own.
 * @param user who may log in. @default the user who runs the tests; only root can let in others
 * @param hasSftp whether it offers SFTP
 */
export async function startOpenSsh (user = userInfo().username, hasSftp = true): Promise<TestSshd> {
  const folder = await createTemporaryFolder()
  // The server reads the keys of another user as that user.
  if (user !== userInfo().username) await chmod(folder.path, 0o711)
  const at = (name: string): string => join(folder.path, name)
  for (const name of ['host', 'key', 'stranger']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)])
  await folder.write('authorized', await readFile(at('key.pub')))
  // As root it wants this folder, which distributions make at the start of the service.
  if (process.getuid?.() === 0) execFileSync('mkdir', ['-p', '/run/sshd'])
  const begin = async (tries: number): Promise<Listening> => {
    const port = await freePort()
    await folder.write('sshd_config', [
      `Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${at('host')}`, `PidFile ${at('pid')}`, `AuthorizedKeysFile ${at('authorized')}`,
      'StrictModes no', 'UsePAM no', 'PasswordAuthentication no', 'PermitRootLogin prohibit-password', ...(hasSftp ? ['Subsystem sftp internal-sftp'] : [])
    ].join('\n'))
    const server = spawn(SSHD, ['-D', '-e', '-f', at('sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] })
    // Another process may have taken the port meanwhile: then sshd ends, and what answers there is something else.
    if (await says(server, 'Server listening')) return { port, server }
    if (tries === 1) throw new Error('sshd ends before it listens')
    return await begin(tries - 1)
  }
  const { port, server } = await begin(5)
  const proxy = await startProxy(port)
  const [, hostKey = ''] = execFileSync('ssh-keygen', ['-l', '-f', at('host.pub')], { encoding: 'utf8' }).split(' ')
  return {
    port: proxy.port,
    user,
    hostKey,
    keyFile: at('key'),
    strangerKeyFile: at('stranger'),
    cut: proxy.cut,
    async stop () {
      proxy.stop()
      const ended = once(server, 'exit')
      server.kill('SIGKILL')
      await ended
      await folder.remove()
    }
  }
}

interface Listening {
  readonly port: number
  readonly server: ChildProcess
}

/** Whether a process writes a text to its error output before it ends. What it writes later is thrown away. */
async function says (server: ChildProcess & { readonly stderr: Readable }, text: string): Promise<boolean> {
  return await new Promise(resolve => {
    server.stderr.on('data', (piece: Buffer) => { if (piece.includes(text)) resolve(true) })
    server.once('exit', () => { resolve(false) })
  })
}

/** What a server of this process does with a command, once the first line of its input has come, which is a mark. */
export type Answer = (channel: ServerChannel, command: string, mark: string) => void

/** An SSH server in this process, whose answers a test decides. */
export async function startScriptedSsh (answer: Answer): Promise<TestSshd & { readonly logins: string[] }> {
  const folder = await createTemporaryFolder()
  const [host, key, stranger] = [newKeyPair(), newKeyPair(), newKeyPair()]
  await folder.write('key', key.private)
  await folder.write('stranger', stranger.private)
  const publicKey = parsed(key.public)
  const logins: string[] = []
  const server = new ssh2.Server({ hostKeys: [host.private] }, client => {
    client.on('error', () => {})
    client.on('authentication', context => {
      logins.push(context.method)
      if (context.method !== 'publickey' || !context.key.data.equals(publicKey.getPublicSSH())) return context.reject(['publickey'])
      if (context.signature !== undefined && publicKey.verify(context.blob as Buffer, context.signature, context.hashAlgo) !== true) return context.reject()
      context.accept()
    })
    client.on('session', accept => {
      accept().on('exec', (acceptExec, _reject, { command }) => {
        const channel: ServerChannel = acceptExec()
        channel.once('data', (line: Buffer) => { answer(channel, command, line.toString().trim()) })
      })
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const proxy = await startProxy((server.address() as AddressInfo).port)
  return {
    port: proxy.port,
    user: 'anyone',
    hostKey: `SHA256:${createHash('sha256').update(parsed(host.public).getPublicSSH()).digest('base64').replace(/=+$/, '')}`,
    keyFile: join(folder.path, 'key'),
    strangerKeyFile: join(folder.path, 'stranger'),
    logins,
    cut: proxy.cut,
    async stop () {
      proxy.stop()
      server.close()
      await folder.remove()
    }
  }
}

/** Of ECDSA, since one of 256 Ed25519 keys that ssh2 makes cannot be read (https://github.com/mscdex/ssh2/issues/1513). */
function newKeyPair (): ReturnType<typeof ssh2.utils.generateKeyPairSync> {
  return ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 })
}

function parsed (key: string): ssh2.ParsedKey {
  const result = ssh2.utils.parseKey(key)
  if (result instanceof Error) throw result
  return result
}

/** Passes connections on until they are cut. */
async function startProxy (to: number): Promise<{ readonly port: number, cut (): void, stop (): void }> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    const other = connect(to, '127.0.0.1')
    for (const each of [socket, other]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => { sockets.delete(each); socket.destroy(); other.destroy() })
    }
    socket.pipe(other).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => { for (const socket of sockets) socket.destroy() }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    stop () {
      server.close()
      cut()
    }
  }
}
