import { mkdir } from 'node:fs/promises'
import { PRIVATE_FILE } from '../base/private-folder.ts'
import { replaceFile } from './durable.ts'
import { errorCode } from './file-refusal.ts'
import { type OpenFolder } from './open-folder.ts'
import { type WorkspaceFiles } from './workspace-files.ts'

/** The folders for traces of plans in a workspace, where existing clients look for them. */
const FOLDERS = ['.papa-yu', 'traces']

/** Writes the trace of a plan (a record of what it did) into its workspace; replaces an earlier trace. No link on the way is followed. @param id a UUID */
export async function writeTrace (files: WorkspaceFiles, id: string, text: string): Promise<void> {
  const open: OpenFolder[] = [await files.openRoot()]
  try {
    for (const name of FOLDERS) {
      const folder = open.at(-1) as OpenFolder
      await mkdir(folder.at(name)).catch((error: unknown) => { if (errorCode(error) !== 'EEXIST') throw error })
      open.push(await folder.child(name))
    }
    const traces = open.at(-1) as OpenFolder
    await replaceFile(traces.at(`${id}.json`), traces.at(`.${id}.tmp`), text, { mode: PRIVATE_FILE })
  } finally {
    for (const folder of open) await folder.close()
  }
}
