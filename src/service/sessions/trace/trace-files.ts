import { ANYONE } from '../../../access/caller.ts'
import { stringifyJson } from '../../../base/json.ts'
import { type Log } from '../../../base/log.ts'
import { type Workspaces } from '../../../files/workspaces.ts'
import { type Session } from '../../../session/session.ts'
import { isPlan } from './trace.ts'
import { type Traces } from './traces.ts'

/**
 * Writes the traces of plans (records of what a plan has read, asked and changed) as files into the plans' workspaces, whenever a plan
 * begins to wait or has ended.
 */
export class TraceFiles {
  readonly #traces: Pick<Traces, 'get'>
  readonly #loadWorkspaces: () => Promise<Workspaces>
  readonly #log: Log
  /** The last write of a trace. Traces are written one after the other, as two traces can go to the same file. */
  #last = Promise.resolve()

  constructor (traces: Pick<Traces, 'get'>, loadWorkspaces: () => Promise<Workspaces>, log: Log) {
    this.#traces = traces
    this.#loadWorkspaces = loadWorkspaces
    this.#log = log
  }

  /** Writes the trace of a plan; does nothing for other sessions. It never rejects, since a plan goes on without its trace. */
  async write (session: Session): Promise<void> {
    if (!isPlan(session.start)) return
    this.#last = this.#last.then(() => this.#write(session.id)).catch((error: unknown) => {
      this.#log.warn({ session: session.id, reason: (error as Error).message }, 'the trace of a plan could not be written')
    })
    await this.#last
  }

  async #write (session: string): Promise<void> {
    const trace = await this.#traces.get(ANYONE, session)
    const workspaces = await this.#loadWorkspaces()
    await workspaces.writeTrace(trace.workspace, trace.trace_id, `${stringifyJson(trace, 2)}\n`)
  }
}
