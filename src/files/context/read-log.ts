import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { FileRefusal } from '../file-refusal.ts'
import { assertSame } from '../open-folder.ts'
import { refusalOf, type WorkspaceFiles } from '../workspace-files.ts'

/** How many lines are read from the end of a log file: by default, and at most. */
const DEFAULT_LINES = 200
const MAX_LINES = 5000

/** The most bytes that are read from the end of a log file. */
const MAX_BYTES = 512 * 1024

/** Reads the last lines of a log file in a workspace, for a model. @param location path in the workspace, as the operator configured it @throws FileRefusal */
export async function readLog (files: WorkspaceFiles, location: string, lines = DEFAULT_LINES): Promise<string> {
  const path = await files.resolve(isAbsolute(location) ? relative((await files.roots()).root, location) : location)
  const text = await files.within(path, async ({ at }) => {
    const file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => { throw refusalOf(error, path) })
    try {
      await assertSame(file, at)
      const stats = await file.stat()
      // A log file can have any size, unlike other files, since only its end is read.
      if (!stats.isFile() || stats.nlink > 1) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no plain file`)
      const bytes = Buffer.alloc(Math.min(stats.size, MAX_BYTES))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, stats.size - bytes.length)
      return bytes.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  })
  return text.replace(/\r?\n$/, '').split('\n').slice(-Math.min(Math.max(lines, 1), MAX_LINES)).join('\n')
}
