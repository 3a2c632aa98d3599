import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A folder of a test's own. */
export interface TemporaryFolder {
  /** Absolute and without links. */
  readonly path: string
  /** Writes a file below the folder, and the folders on its way. */
  write (file: string, content: string | Uint8Array): Promise<void>
  /** Removes the folder and all in it. */
  remove (): Promise<void>
}

/** Creates an empty folder; call `remove` in an `after` hook. @param below where it is made */
export async function createTemporaryFolder (below = tmpdir()): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(below, 'ai-prompt-shell-')))
  return {
    path,
    async write (file, content) {
      const target = join(path, file)
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, content)
    },
    remove: () => rm(path, { recursive: true, force: true })
  }
}
