import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext } from 'node:test'
import { environmentOf, LocalExecutor, whyNoSandbox } from '../../../src/exec/local-executor.ts'
import { type Executor } from '../../../src/exec/executor.ts'
import { SshExecutor } from '../../../src/exec/ssh-executor.ts'
import { loadPtys } from '../../../src/exec/local-pty.ts'
import { type ShellRan, type ShellRunOptions } from '../../../src/exec/terminal/typed-commands.ts'
import { Terminal, type TerminalOptions } from '../../../src/exec/terminal/terminal.ts'
import { type TestSshd } from '../../helpers/sshd.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'

/** Why no terminal of this machine can be had; `false` when one can. */
export const noPty = await loadPtys() === undefined ? '@lydell/node-pty is not installed' : false

const why = await whyNoSandbox()

/** Why no jailed terminal can be had. */
export const noJail = noPty === false && why !== undefined ? `bubblewrap does not work here: ${why}` : noPty

/** The shells that terminals are held to, and why one cannot be. */
export const SHELLS = (['bash', 'bash-4.4', 'dash', 'busybox'] as const).map(name => ({
  name,
  words: { bash: ['bash', '--noprofile', '--norc', '-i'], 'bash-4.4': ['bash-4.4', '--noprofile', '--norc', '-i'], dash: ['dash', '-i'], busybox: ['busybox', 'ash', '-i'] }[name],
  skip: spawnSync('sh', ['-c', `command -v ${name}`]).status === 0 ? false as const : `${name} is not installed`
}))

/** A terminal, and what it has shown. */
export interface TestTerminal {
  readonly terminal: Terminal
  readonly folder: string
  /** What a reader has been shown: the end of it. */
  shown (): string
  /** The states it has been in. */
  readonly states: readonly string[]
  run (command: string, options?: Partial<ShellRunOptions>): Promise<ShellRan>
  until (what: string): Promise<void>
}

/** Where a terminal of a test is. */
export type Place = 'jail' | 'bare' | TestSshd

/** What is kept of what a terminal shows, in UTF-16 units. */
const KEPT = 2 * 1024 * 1024

/** Opens a terminal in a folder of its own; ended after the test. */
export async function openTerminal (t: TestContext, place: Place, options: Partial<TerminalOptions> = {}): Promise<TestTerminal> {
  const folder = await createTemporaryFolder()
  const state = await createTemporaryFolder()
  // Over SSH the shell may be another user's.
  await chmod(folder.path, 0o755)
  const executor = executorAt(place, folder.path, state.path)
  const terminal = await Terminal.open({ name: 'web', size: { cols: 80, rows: 24 }, open: each => executor.openPty(each), ...options })
  let shown = ''
  const states: string[] = []
  terminal.attach({ unread: 0, data (text) { shown = shown.length > KEPT ? shown.slice(-KEPT / 2) + text : shown + text }, state (each) { states.push(each) }, closed () {}, cut () {} })
  t.after(async () => {
    await terminal.end('the test is over')
    await terminal.ended
    await executor.close()
    await Promise.all([folder.remove(), state.remove()])
  })
  return {
    terminal,
    folder: await realpath(folder.path),
    states,
    shown: () => shown,
    run: (command, more = {}) => terminal.run(command, { timeout: 20_000, signal: new AbortController().signal, ...more }),
    until: async what => { await waitFor(`"${what}" to be shown`, () => shown.includes(what)) }
  }
}

function executorAt (place: Place, workspace: string, state: string): Executor {
  if (typeof place === 'string') {
    const sandbox = place === 'jail' ? 'required' : 'off'
    return new LocalExecutor({ workspace, sandbox, hasNetwork: false, environment: environmentOf({ ...process.env, HOME: workspace }, []), secrets: [], mayRunAsRoot: true, terminals: join(state, 'terminals') })
  }
  const { port, user, hostKey, keyFile } = place
  return new SshExecutor({ type: 'ssh', name: 'web', host: '127.0.0.1', port, user, hostKey, keyFile, cwd: workspace, hasSkills: false, mayRunUnasked: false }, undefined)
}

/** What `sh -c` gives for a command, as one stream. */
export function plainly (shell: readonly string[], command: string, cwd: string): { readonly status: number | null, readonly output: string } {
  const [program = '', ...words] = shell
  const { status, stdout } = spawnSync(program, [...words, '-c', `exec 2>&1\n${command}`], { cwd, encoding: 'utf8' })
  return { status, output: stdout }
}

/** The processes of this machine whose command line holds a text. */
export function processesWith (text: string): string[] {
  return execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).split('\n').filter(line => line.includes(text) && !line.startsWith('ps '))
}
