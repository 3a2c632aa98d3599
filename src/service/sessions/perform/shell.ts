import { type OperatorFile, type Target } from '../../../config/operator.ts'
import { ExecutorError } from '../../../exec/executor.ts'
import { type Executors } from '../../../exec/executors.ts'
import { type Terminal } from '../../../exec/terminal/terminal.ts'
import { type Terminals } from '../../../exec/terminal/terminals.ts'
import { type ShellEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Perform, type Performing, RightsLost } from './performer.ts'

/** What is needed to open terminals: the targets, the register of open terminals, and a folder for recordings. */
export interface ShellOptions {
  readonly executors: Executors
  readonly operator: OperatorFile
  readonly terminals: Terminals
  /** The folder in which recordings of terminals are kept. */
  readonly folder: string
  /** Called with the id of the session whose terminal nobody has used for too long. */
  readonly onIdle: (session: string) => void
  /** Ends the session of a terminal whose owner may not use it any more. */
  readonly stop: (session: string, reason: string) => Promise<void>
}

/** The reason that the log gives for the end of a shell when the service was stopped. */
const STOPPED = 'the service was stopped'

/** Makes the performer that opens a terminal, and waits until its shell ends. */
export function openShellsOn (options: ShellOptions): Perform<ShellEffect> {
  const { operator: { targets }, terminals, stop } = options
  return async performing => await keepOpen(performing, terminals, () => openOn(targets.get(performing.effect.target), options, performing), stop)
}

/** Opens a terminal, and keeps it open until its shell ends, or until the signal aborts. @param open opens the terminal @param stop see `ShellOptions` */
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
    const { reason, exitCode } = await terminal.ended
    signal.removeEventListener('abort', end)
    await stopping
    if (await isConfirmed === false) return { kind: 'unknown', reason: 'nobody has confirmed the end of all that ran in it' }
    return lost()?.failure ?? outcomeOf(reason, exitCode)
  } catch (error) {
    if (error instanceof ExecutorError) return { kind: 'failure', code: error.code, message: error.message }
    throw error
  }
}

function outcomeOf (reason: 'exit' | 'ended' | 'lost', exitCode: number | null): Outcome {
  if (reason === 'lost') return { kind: 'unknown', reason: 'the connection was lost' }
  return { kind: 'result', result: { reason: reason === 'exit' ? 'exit' : STOPPED, exitCode } }
}

/** Opens a terminal (a shell for a person) on a target. @throws ExecutorError when the operator allows none there, or when it cannot be opened */
async function openOn (target: Target | undefined, options: ShellOptions, { session: { id }, effect }: Performing<ShellEffect>): Promise<Terminal> {
  const { executors, folder, onIdle } = options
  const { cols, rows } = effect
  const executor = await executors.ofTarget(effect.target)
  if (target?.mayOpenTerminal !== true || executor === undefined) {
    throw new ExecutorError('TERMINAL_UNSUPPORTED', `the operator of this service allows no terminals on "${effect.target}"`)
  }
  // The code for terminals is loaded with the first terminal.
  const [{ Recording }, terminals] = await Promise.all([import('../../../exec/terminal/recording.ts'), import('../../../exec/terminal/terminal.ts')])
  const size = { cols, rows }
  const recording = target.isRecorded === true ? await Recording.open(folder, id, size) : undefined
  try {
    return await terminals.Terminal.open({ name: target.name, size, open: options => executor.openPty(options), recording, onIdle: () => { onIdle(id) } })
  } catch (error) {
    await recording?.close()
    throw error
  }
}
