import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** How often the service looks for sessions that other processes have left, in ms. */
const LOOK = 5000

/** Whether a folder has sessions that have not ended. It reads names of files only: a start with no sessions loads no store. */
export async function hasOpenSessions (path: string): Promise<boolean> {
  return (await namesIn(join(path, 'open'))).some(name => name.endsWith('.jsonl'))
}

/** Whether changes of files were begun that have no end. @param state folder of the service's state */
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

/** The search for sessions that other processes have left. */
export interface Lookout {
  /** Why the search fails now, if it does. */
  problem (): string | undefined
  close (): void
}

/**
 * Looks at once and every 5 s whether another process has left sessions. The search ends when the first are gone on with.
 * @param begin goes on with them; when that fails, the search goes on
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
