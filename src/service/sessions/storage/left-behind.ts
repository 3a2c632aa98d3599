import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** How often it is looked for what others have left, in ms. */
const LOOK = 5000

/** Whether a folder of sessions has some that have not ended. Looks at names only, for a start loads nothing where there is nothing. */
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

/** Looks for what others have left. */
export interface Lookout {
  /** Why it cannot be looked now. */
  problem (): string | undefined
  close (): void
}

/**
 * Looks whether there is something to go on with, at once and every 5 s: another process may leave something later. Ends when
 * that has begun.
 * @param begin goes on with it; where that fails, it is tried again
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
