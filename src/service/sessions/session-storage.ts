import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../base/durable-files.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import type { OperatorFile } from '../../config/operator.ts'
import { readSessionSecrets } from '../../config/service-files.ts'
import type { Log } from '../../runtime/telemetry.ts'
import type { Disk } from '../../session/model.ts'
import { createSeals, type Seals } from '../../session/session-log.ts'
import type { SessionStore } from '../../session/store/session-store.ts'

/** Other programs in the same Redis must not approve a command by writing into a log. @throws ConfigError if Redis lacks a secret */
export function sessionSealsOf (config: Config, { targets, workspaces }: Pick<OperatorFile, 'targets' | 'workspaces'>): Seals {
  const secrets = readSessionSecrets(config)
  const mayAct = targets.size > 0 || workspaces.size > 0
  if (secrets.length === 0 && mayAct && placeOf(config).kind === 'redis') {
    throw new ConfigError('SESSION_SECRET or SESSION_SECRET_FILE: expected a secret, since OPERATOR_FILE offers targets or workspaces ' +
      'and sessions are kept in Redis: whoever can write there could approve commands; openssl rand -hex 32 makes one')
  }
  return createSeals(secrets)
}

/** `undefined` where sessions cannot reach a process with other disks: only those in Redis can. */
export function disksOf (config: Config, operator: Pick<OperatorFile, 'workspaces'>): Disks | undefined {
  return placeOf(config).kind === 'redis' ? new Disks(operator, config.STATE_DIR) : undefined
}

/** A plan goes on only where its disk is: by `STATE_DIR`'s random id in `disk.json`, or by the operator's name for the disk. */
class Disks {
  readonly #operator: Pick<OperatorFile, 'workspaces'>
  readonly #state: string
  #own: Disk | undefined

  constructor (operator: Pick<OperatorFile, 'workspaces'>, state: string) {
    this.#operator = operator
    this.#state = resolve(state)
  }

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

export type SessionPlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'directory', readonly path: string }
  /** @see parseRedisUrl */
  | { readonly kind: 'redis', readonly url: string, readonly sentinelPassword?: string, readonly keyPrefix?: string }

export function placeOf (config: Config): SessionPlace {
  const { SESSION_STORE: place, STATE_DIR: state, REDIS_URL: redis, REDIS_SENTINEL_PASSWORD: sentinelPassword, KEY_PREFIX: keyPrefix } = config
  const chosen = place === '' ? redis === '' ? join(state, 'sessions') : redis : place
  if (chosen === 'memory') return { kind: 'memory' }
  if (/^rediss?(?:\+\w+)?:/.test(chosen)) return { kind: 'redis', url: chosen, sentinelPassword, keyPrefix }
  return { kind: 'directory', path: chosen }
}

/** A store below the same keys or folder, so that whoever may use the one may use the other. */
export function besideSessions (place: SessionPlace, name: string): SessionPlace {
  if (place.kind === 'directory') return { ...place, path: join(place.path, name) }
  return place.kind === 'redis' ? { ...place, keyPrefix: `${place.keyPrefix ?? ''}sessions:${name}:` } : place
}

const SEVEN_DAYS = 7 * 24 * 60 * 60_000

/** Touches no file and no connection before its first use. An ended session is kept for `keep` ms. @throws SessionStoreError for a bad Redis URL */
export async function openSessionStore (place: SessionPlace, { keep = SEVEN_DAYS, log }: { readonly keep?: number, readonly log: Log }): Promise<SessionStore> {
  // Each kind needs other packages, so only the configured one is loaded.
  switch (place.kind) {
    case 'memory': {
      const { createMemorySessionStore } = await import('../../session/store/memory-session-store.ts')
      log.warn({}, 'sessions are kept in memory only, and are lost with this process')
      return createMemorySessionStore({ keep })
    }
    case 'directory': {
      const { createDirectorySessionStore } = await import('../../session/store/directory-session-store.ts')
      return createDirectorySessionStore({ path: place.path, keep, log })
    }
    case 'redis': {
      const { createRedisSessionStore } = await import('../../session/store/redis-session-store.ts')
      return createRedisSessionStore({ ...place, keep, log })
    }
  }
}

/** Reads only names of files, so that a service without sessions loads no code for them. */
export async function hasOpenSessions (path: string): Promise<boolean> {
  return (await namesIn(join(path, 'open'))).some(name => name.endsWith('.jsonl'))
}

/** As after a crash. */
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
