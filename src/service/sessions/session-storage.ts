import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../base/durable-files.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import type { OperatorFile } from '../../config/operator.ts'
import { readSessionSecrets } from '../../config/service-files.ts'
import type { HeldDisks } from '../../session/fact-writer.ts'
import type { Disk } from '../../session/model.ts'
import { createSeals, type Seals } from '../../session/session-log.ts'
import type { SessionPlace } from '../../session/store/open-session-store.ts'

/**
 * Makes the seals (signatures) of the logs of sessions. Other programs can write to the same Redis, and must not be able to approve a command
 * by writing into a log. A folder of sessions belongs to the service's user alone, who could read the secret, too, so logs in a folder are
 * sealed only if the operator sets a secret.
 * @throws ConfigError if sessions are allowed to run commands or change files, are kept in Redis, and there is no secret
 */
export function sessionSealsOf (config: Config, { targets, workspaces }: Pick<OperatorFile, 'targets' | 'workspaces'>): Seals {
  const secrets = readSessionSecrets(config)
  const mayAct = targets.size > 0 || workspaces.size > 0
  if (secrets.length === 0 && mayAct && placeOf(config).kind === 'redis') {
    throw new ConfigError('SESSION_SECRET or SESSION_SECRET_FILE: expected a secret, since OPERATOR_FILE offers targets or workspaces ' +
      'and sessions are kept in Redis: whoever can write there could approve commands; openssl rand -hex 32 makes one')
  }
  return createSeals(secrets)
}

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

/** The place where sessions are kept, by the configuration: in memory, in a folder, or in Redis. */
export function placeOf (config: Config): SessionPlace {
  const { SESSION_STORE: place, STATE_DIR: state, REDIS_URL: redis, REDIS_SENTINEL_PASSWORD: sentinelPassword, KEY_PREFIX: keyPrefix } = config
  const chosen = place === '' ? redis === '' ? join(state, 'sessions') : redis : place
  if (chosen === 'memory') return { kind: 'memory' }
  if (/^rediss?(?:\+\w+)?:/.test(chosen)) return { kind: 'redis', url: chosen, sentinelPassword, keyPrefix }
  return { kind: 'directory', path: chosen }
}

/** The time between two searches for sessions that a process did not finish, in ms. */
const LOOK = 5000

/** Whether a folder has sessions that have not ended. Only names of files are read, so that a service without sessions loads no code for them. */
export async function hasOpenSessions (path: string): Promise<boolean> {
  return (await namesIn(join(path, 'open'))).some(name => name.endsWith('.jsonl'))
}

/** Whether any change of files was begun and not finished, as after a crash. @param state the folder of the service's state */
export async function hasOpenChanges (state: string): Promise<boolean> {
  const journals = join(state, 'journal')
  for (const workspace of await namesIn(journals)) {
    if ((await namesIn(join(journals, workspace))).some(name => name.endsWith('.open'))) return true
  }
  return false
}

async function namesIn (folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => [])
}

/** A search, repeated every few seconds, for sessions that a process has left unfinished. */
export interface Lookout {
  /** The reason why the last search failed; `undefined` if it did not. */
  problem (): string | undefined
  close (): void
}

/**
 * Looks at once, and then every 5 s, for sessions that another process has left unfinished. The search ends when they are resumed.
 * @param begin resumes the sessions; if it fails, the search goes on
 */
export function lookOut (isAnyLeft: () => Promise<boolean>, begin: () => Promise<void>): Lookout {
  let isClosed = false
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined

  async function look (): Promise<void> {
    try {
      const isLeft = await isAnyLeft()
      problem = undefined
      if (isLeft && !isClosed) return await begin()
    } catch (error) {
      problem = (error as Error).message
    }
    if (isClosed) return
    timer = setTimeout(() => { void look() }, LOOK)
    timer.unref()
  }

  void look()
  return {
    problem: () => problem,
    close () {
      isClosed = true
      clearTimeout(timer)
    }
  }
}
