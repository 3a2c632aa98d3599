// Changes files, and kills itself at, or lets fail, the n-th call that changes something on the disk. argv: one JSON of `CrashPlan`.
import { writeSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { applyChange } from '../../../src/files/change/apply.ts'
import { WorkspaceFiles } from '../../../src/files/workspace-files.ts'
import { type JsonObject } from '../../../src/base/json.ts'

export interface CrashPlan {
  readonly root: string
  readonly journal: string
  readonly effect: string
  readonly change: JsonObject
  /** Which call, from 1. */
  readonly at?: number
  /** @default the process kills itself before the call */
  readonly fails?: boolean
}

const plan = JSON.parse(process.argv[2] as string) as CrashPlan
let calls = 0

/** Only what concerns the change counts, the taking of its lock too, but not the lock's heartbeat. */
function count (): void {
  if (++calls !== plan.at) return
  if (plan.fails === true) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  process.kill(process.pid, 'SIGKILL')
}

type Method = (...given: unknown[]) => Promise<unknown>
function wrap (holder: object, names: readonly string[]): void {
  const methods = holder as Record<string, Method>
  for (const name of names) {
    const real = methods[name] as Method
    methods[name] = async function (this: unknown, ...given: unknown[]) {
      count()
      return await real.apply(this, given)
    }
  }
}

const handle = await fs.open(process.execPath)
wrap(Object.getPrototypeOf(handle) as object, ['appendFile', 'writeFile', 'sync', 'chmod', 'chown'])
await handle.close()
wrap(fs, ['mkdir', 'rename', 'rm', 'rmdir', 'unlink'])
const open = fs.open as unknown as Method
Object.assign(fs, {
  async open (...given: unknown[]) {
    const [, flags = 'r'] = given
    if (typeof flags === 'number' ? (flags & fs.constants.O_CREAT) !== 0 : flags !== 'r') count()
    return await open(...given)
  }
})
syncBuiltinESMExports()

const { root, journal, effect, change } = plan
const outcome = await applyChange({ files: new WorkspaceFiles({ root }), journal, session: 'S', effect, change, signal: AbortSignal.timeout(60_000) }).catch((error: Error) => ({ kind: 'failure', code: 'THROWN', message: error.message }))
// Standard output is a pipe: what is written to it at once is there.
writeSync(1, JSON.stringify({ outcome, calls }))
