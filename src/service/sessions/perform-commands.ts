import { type JsonObject, ownField } from '../../base/json.ts'
import type { OperatorFile, Target } from '../../config/operator.ts'
import { type Locale, TERMINAL_TEXTS } from '../../engine/texts.ts'
import { type Executor, ExecutorError, type Stream } from '../../exec/executor.ts'
import type { Executors } from '../../exec/executors.ts'
import type { Terminal } from '../../exec/terminal/terminal.ts'
import type { Terminals } from '../../exec/terminal/terminals.ts'
import { type AboutEffect, approvalDigest } from '../../session/approvals.ts'
import type { Outcome } from '../../session/effects.ts'
import type { CheckEffect, ExecEffect, ShellEffect, Start } from '../../session/model.ts'
import type { WorkspaceLocks } from './perform-files.ts'
import { failureOf, type Perform, type Performing, RightsLost } from './performer.ts'

/** Each command has been checked before against the operator's rules. */
export function runCommandsOn (executors: Executors, { targets }: OperatorFile, lockOf: WorkspaceLocks): Perform<ExecEffect> {
  return async performing => {
    const { effect, signal } = performing
    const target = targets.get(effect.target)
    const executor = await executors.ofTarget(effect.target)
    if (target === undefined || executor === undefined) return notOffered('TARGET_UNKNOWN', `target "${effect.target}"`)
    const run = (): Promise<Outcome> => runWith(executor, effect.command, effect, performing)
    return target.type === 'local' ? await lockOf(target.workspace.name).beside(signal, run) : await run()
  }
}

export function runChecksIn (executors: Executors, { workspaces }: OperatorFile, lockOf: WorkspaceLocks): Perform<CheckEffect> {
  return async performing => {
    const { effect: { workspace, check }, signal } = performing
    const command = workspaces.get(workspace)?.checks.get(check)
    const executor = await executors.ofWorkspace(workspace)
    if (command === undefined || executor === undefined) return notOffered('CHECK_UNKNOWN', `check "${check}" of a workspace "${workspace}"`)
    return await lockOf(workspace).beside(signal, () => runWith(executor, command, performing.effect, performing))
  }
}

function notOffered (code: string, what: string): Outcome {
  return { kind: 'failure', code, message: `the operator of this service offers no ${what}` }
}

async function runWith (
  executor: Executor, command: string, { id, cwd, timeout }: Pick<ExecEffect, 'id' | 'cwd' | 'timeout'>,
  { signal, publish }: Pick<Performing<ExecEffect>, 'signal' | 'publish'>
): Promise<Outcome> {
  const live = new LiveOutput(id, publish)
  try {
    const { outcome, ...ran } = await executor.run(command, { cwd, timeout, signal, keep: KEPT, onOutput: (stream, text) => { live.append(stream, text) } })
    return outcome === 'lost' ? { kind: 'unknown' } : { kind: 'result', result: { outcome, ...ran, command } }
  } catch (error) {
    return failureOf(error)
  } finally {
    live.end()
  }
}

/** In ms, for collecting output before the session's followers receive it. */
const PAUSE = 100

/** In UTF-16 units, while the command runs; its result can keep more. */
const MOST = 256 * 1024

class LiveOutput {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  readonly #waiting: Record<Stream, string> = { stdout: '', stderr: '' }
  #left = MOST
  #timer: NodeJS.Timeout | undefined

  constructor (effect: string, publish: (live: JsonObject) => void) {
    this.#effect = effect
    this.#publish = publish
  }

  append (stream: Stream, text: string): void {
    if (this.#left === 0) return
    const part = text.slice(0, this.#left)
    this.#left -= part.length
    this.#waiting[stream] += this.#left === 0 ? `${part}\n...[TRUNCATED]...\n` : part
    this.#timer ??= setTimeout(() => { this.#flush() }, PAUSE)
  }

  end (): void {
    this.#flush()
  }

  #flush (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const stream of ['stdout', 'stderr'] as const) {
      const text = this.#waiting[stream]
      this.#waiting[stream] = ''
      if (text !== '') this.#publish({ type: 'command.output', effect: this.#effect, stream, text })
    }
  }
}

/** In bytes of output in the session's log. */
const KEPT = 64 * 1024

/** Begins at an empty command line; an allowed command begins only in the folder that the person was shown. */
export function runCommandsIn (terminals: Pick<Terminals, 'get'>, about: AboutEffect): Perform<ExecEffect> {
  return async ({ session, effect, signal, publish }) => {
    const { id, command, timeout, terminal: named = '' } = effect
    const terminal = terminals.get(named, session.start.owner)
    if (terminal === undefined) return { kind: 'failure', code: 'TERMINAL_GONE', message: 'the terminal has ended, and nothing was run' }
    const approved = session.open.get(id)?.approved
    const live = new LiveOutput(id, publish)
    try {
      const { outcome, ...ran } = await terminal.run(command, {
        timeout,
        signal,
        keep: KEPT,
        onOutput (text) { live.append('stdout', text) },
        onWait () { publish({ type: 'terminal.waiting', effect: id, terminal: named, text: TERMINAL_TEXTS[languageOf(session.start)].terminalBusy }) },
        mayBeginIn: () => approved === undefined || approvalDigest(session.id, effect, about(session, effect)) === approved
      })
      return outcome === 'lost' ? { kind: 'unknown' } : { kind: 'result', result: { outcome, ...ran, stderr: '', command } }
    } catch (error) {
      return failureOf(error)
    } finally {
      live.end()
    }
  }
}

function languageOf ({ setting }: Pick<Start, 'setting'>): Locale {
  return ownField(ownField(setting, 'skill'), 'language') === 'ru' ? 'ru' : 'en'
}

interface ShellOptions {
  readonly executors: Executors
  readonly operator: OperatorFile
  readonly terminals: Terminals
  readonly folder: string
  readonly onIdle: (session: string) => void
  readonly stop: (session: string, reason: string) => Promise<void>
}

const STOPPED = 'the service was stopped'

export function openShellsOn (options: ShellOptions): Perform<ShellEffect> {
  const { operator: { targets }, terminals, stop } = options
  return async performing => await keepOpen(performing, terminals, () => openOn(targets.get(performing.effect.target), options, performing), stop)
}

export async function keepOpen (
  { session: { id, start: { owner } }, signal }: Pick<Performing<ShellEffect>, 'session' | 'signal'>,
  terminals: Terminals,
  open: () => Promise<Terminal>,
  stop: ShellOptions['stop']
): Promise<Outcome> {
  try {
    const terminal = await terminals.hold(id, owner, open)
    const lost = (): RightsLost | undefined => signal.reason instanceof RightsLost ? signal.reason : undefined
    let stopping: Promise<void> | undefined
    let isConfirmed: Promise<boolean> | undefined
    const end = (): void => {
      const why = lost()?.message
      // The session ends as one that somebody has ended, and the shell does not wait for that.
      if (why !== undefined) stopping = stop(id, why).catch(() => {})
      isConfirmed = terminal.end(why ?? 'it was ended')
    }
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    const ended = await terminal.ended
    signal.removeEventListener('abort', end)
    await stopping
    if (await isConfirmed === false) return { kind: 'unknown', reason: 'nobody has confirmed the end of all that ran in it' }
    return lost()?.failure ?? outcomeOf(ended)
  } catch (error) {
    return failureOf(error)
  }
}

function outcomeOf ({ reason, exitCode, signal }: Awaited<Terminal['ended']>): Outcome {
  if (reason === 'lost') return { kind: 'unknown', reason: 'the connection was lost' }
  return { kind: 'result', result: { reason: reason === 'exit' ? 'exit' : STOPPED, exitCode, ...signal === undefined ? {} : { signal } } }
}

/** @throws ExecutorError when the operator allows none there, or when it cannot be opened */
async function openOn (target: Target | undefined, options: ShellOptions, { session: { id }, effect }: Performing<ShellEffect>): Promise<Terminal> {
  const { executors, folder, onIdle } = options
  const { cols, rows } = effect
  const executor = await executors.ofTarget(effect.target)
  if (target?.mayOpenTerminal !== true || executor === undefined) {
    throw new ExecutorError('TERMINAL_UNSUPPORTED', `the operator of this service allows no terminals on "${effect.target}"`)
  }
  // The code for terminals is loaded with the first terminal.
  const [{ Recording }, terminals] = await Promise.all([import('../../exec/terminal/recording.ts'), import('../../exec/terminal/terminal.ts')])
  const size = { cols, rows }
  const recording = target.isRecorded === true ? await Recording.open(folder, id, size) : undefined
  try {
    return await terminals.Terminal.open({ name: target.name, size, open: options => executor.openPty(options), recording, onIdle: () => { onIdle(id) } })
  } catch (error) {
    await recording?.close()
    throw error
  }
}
