import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../base/durable-files.ts'

/**
 * A lock of a folder for one process among all that see the folder. It is a file in `lock/`, whose name is a number: the highest number has the lock, and
 * a process takes it over by creating the next one, which only one of several can. Nothing compares clocks, since those of two machines
 * differ and anybody can set one back. A lock is given up when its process has ended, which the same machine can tell by its id and start; or when
 * nobody has refreshed its file for `STALE_MS` of the watcher's own time.
 */

/** The interval at which a lock is refreshed, and the time without a refresh after which it counts as given up, in ms. */
const HEARTBEAT_MS = 1000
const STALE_MS = 5000

/** `longWaits` names a wait that lasts longer, in ms. */
const LONG_MS = 1000

const RELEASED = 'released\n'

interface Owner {
  readonly pid: number
  /** The boot of the machine and the namespace of its process ids: only where both are equal, `pid` means anything. Empty where they cannot be told. */
  readonly machine: string
  /** As the kernel counts it: a later process can have the same id. */
  readonly start: string
}

interface Holder {
  /** By its id, or because it refreshed the lock while this process looked. */
  readonly isAlive: boolean
  readonly description: string
}

const thisProcess: Owner = { pid: process.pid, machine: machineId(), start: startOf(process.pid) ?? '' }

const waits = new Map<LockWait, { readonly text: string, readonly since: number }>()

export function longWaits (): readonly string[] {
  return [...waits.values()].filter(({ since }) => performance.now() - since >= LONG_MS).map(({ text }) => text)
}

export class ProcessLock {
  readonly #path: string
  readonly #number: number
  readonly #timer: NodeJS.Timeout

  constructor (path: string, number: number, onLost: () => void) {
    this.#path = path
    this.#number = number
    this.#timer = setInterval(() => {
      if (!this.isHeld()) {
        clearInterval(this.#timer)
        return onLost()
      }
      const now = new Date()
      utimes(this.#file, now, now).catch(() => {})
    }, HEARTBEAT_MS)
    this.#timer.unref()
  }

  /** False when another process took the lock over, as after a long sleep of this one. */
  isHeld (): boolean {
    try {
      return numbersIn(this.#path).at(-1) === this.#number
    } catch {
      return false
    }
  }

  async release (): Promise<void> {
    clearInterval(this.#timer)
    // The file stays: a later lock always has a higher number than all before.
    if (this.isHeld()) await writeFile(this.#file, RELEASED)
  }

  get #file (): string {
    return join(this.#path, String(this.#number))
  }
}

/** Remembers what it has seen of the lock, to tell whether anybody refreshes it. */
export class LockWait {
  readonly #folder: string
  readonly #path: string
  #seen = ''
  #since = performance.now()
  #hasChanged = false

  constructor (folder: string) {
    this.#folder = folder
    this.#path = join(folder, 'lock')
  }

  /** `onLost` is called when another process has taken the lock over. */
  async attempt (onLost: () => void = () => {}): Promise<ProcessLock | Holder> {
    await mkdir(this.#path, { recursive: true, mode: PRIVATE_FOLDER })
    const newest = numbersIn(this.#path).at(-1) ?? 0
    const holder = newest === 0 ? undefined : await this.#holder(newest)
    if (holder === undefined && await this.#create(newest + 1)) {
      waits.delete(this)
      return new ProcessLock(this.#path, newest + 1, onLost)
    }
    const { isAlive, description } = holder ?? { isAlive: false, description: 'a process that has just taken it' }
    if (!waits.has(this)) waits.set(this, { text: `waits for the lock of ${this.#folder}, which ${description} has`, since: performance.now() })
    return { isAlive, description }
  }

  end (): void {
    waits.delete(this)
  }

  /** @returns false when another process was first */
  async #create (number: number): Promise<boolean> {
    const file = join(this.#path, String(number))
    try {
      await writeFile(file, JSON.stringify(thisProcess), { flag: 'wx', mode: PRIVATE_FILE })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
      throw error
    }
    const numbers = numbersIn(this.#path)
    // Others have perhaps taken the lock, and removed what this process saw, before the file was created.
    const isMine = numbers.at(-1) === number
    for (const old of isMine ? numbers.filter(each => each !== number) : [number]) await rm(join(this.#path, String(old)), { force: true })
    return isMine
  }

  async #holder (number: number): Promise<Holder | undefined> {
    const file = join(this.#path, String(number))
    const [text, mtime] = await Promise.all([readFile(file, 'utf8'), stat(file).then(({ mtimeMs }) => mtimeMs)]).catch(() => ['', 0] as const)
    if (text === RELEASED) return undefined
    const owner = ownerIn(text)
    const isHere = owner !== undefined && owner.machine !== '' && owner.machine === thisProcess.machine
    if (isHere && startOf(owner.pid) !== owner.start) return undefined
    const sight = `${number} ${mtime}`
    if (sight !== this.#seen) {
      this.#hasChanged ||= this.#seen !== ''
      ;[this.#seen, this.#since] = [sight, performance.now()]
    } else if (performance.now() - this.#since >= STALE_MS) return undefined
    return { isAlive: isHere || this.#hasChanged, description: isHere ? `process ${owner.pid}` : 'a process of another machine or container' }
  }
}

function numbersIn (path: string): number[] {
  return readdirSync(path).filter(name => /^\d{1,15}$/.test(name)).map(Number).sort((a, b) => a - b)
}

function ownerIn (text: string): Owner | undefined {
  try {
    return JSON.parse(text) as Owner
  } catch {
    // The process has not written it yet, or has ended before.
    return undefined
  }
}

/** @see https://man7.org/linux/man-pages/man7/pid_namespaces.7.html */
function machineId (): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

/** `undefined` for no process, and for one that has ended and is not waited for yet. */
function startOf (pid: number): string | undefined {
  try {
    // The name of the program, in brackets, can contain anything: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const [state = '', ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
    return 'ZX'.includes(state) ? undefined : fields[18]
  } catch {
    return undefined
  }
}
