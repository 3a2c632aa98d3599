import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

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
