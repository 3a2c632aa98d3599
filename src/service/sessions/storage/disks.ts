import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../../base/private-folder.ts'
import { type Config } from '../../../config/config.ts'
import { type OperatorFile } from '../../../config/operator.ts'
import { type Disk } from '../../../session/model.ts'
import { type HeldDisks } from '../../../session/run/residence.ts'
import { placeOf } from './session-place.ts'

/** The disks of this process; `undefined` where its sessions cannot reach a process with other disks: only those in Redis can. */
export function disksOf (config: Config, operator: Pick<OperatorFile, 'workspaces'>): Disks | undefined {
  return placeOf(config).kind === 'redis' ? new Disks(operator, config.STATE_DIR) : undefined
}

/**
 * The disks that this process has, with workspaces and their journals. Sessions can be shared by processes that do not share a disk: a plan goes on
 * only where its disk is. The disk of `STATE_DIR` has a random id, in `disk.json`; where the operator names the disk of a workspace, all processes
 * with that name have it.
 */
class Disks implements HeldDisks {
  readonly #operator: Pick<OperatorFile, 'workspaces'>
  readonly #state: string
  #own: Disk | undefined

  /** @param state the folder in which the service keeps its state, with the journals of workspaces */
  constructor (operator: Pick<OperatorFile, 'workspaces'>, state: string) {
    this.#operator = operator
    this.#state = resolve(state)
  }

  /** The disk of a workspace. */
  of (workspace: string): Disk {
    const name = this.#operator.workspaces.get(workspace)?.disk
    return name === undefined ? this.#ownDisk() : { id: createHash('sha256').update(`disk ${name}`).digest('hex').slice(0, 32), name }
  }

  ids (): readonly string[] {
    return [...new Set([...this.#operator.workspaces.keys()].map(workspace => this.of(workspace).id))]
  }

  has (id: string): boolean {
    return this.ids().includes(id)
  }

  #ownDisk (): Disk {
    if (this.#own !== undefined) return this.#own
    const path = join(this.#state, 'disk.json')
    mkdirSync(this.#state, { recursive: true, mode: PRIVATE_FOLDER })
    try {
      writeFileSync(path, JSON.stringify({ id: randomUUID().replaceAll('-', ''), name: hostname() }), { flag: 'wx', mode: PRIVATE_FILE })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
    this.#own = JSON.parse(readFileSync(path, 'utf8')) as Disk
    return this.#own
  }
}
