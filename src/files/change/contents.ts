import { FileRefusal } from '../file-refusal.ts'
import { sha256 } from '../workspace-files.ts'
import { type Action } from './action.ts'
import { type ContentOf } from './page.ts'
import { type ChangePlace } from './planned.ts'

/** Makes a function that finds the contents of files before and after a change: in its actions, on the disk, or in the journal of the session's changes. */
export function contentsOf ({ files, journal, session }: ChangePlace, actions: readonly Action[]): ContentOf {
  const wanted = new Map(actions.flatMap(({ content }) => content === undefined ? [] : [[sha256(content), content]]))
  return async (path, hash) => wanted.get(hash) ?? await onDisk(path, hash) ?? await journal.contentOf(session, hash)

  async function onDisk (path: string, hash: string): Promise<Buffer | undefined> {
    const read = await files.read(path).catch((error: unknown) => {
      if (!(error instanceof FileRefusal)) throw error
      return undefined
    })
    return read !== undefined && sha256(read.bytes) === hash ? read.bytes : undefined
  }
}
