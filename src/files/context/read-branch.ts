import { FileRefusal } from '../file-refusal.ts'
import { type WorkspaceFiles } from '../workspace-files.ts'

/** A name is cut at this length, in UTF-16 units. */
const MAX_NAME = 200

/** The branch of git that a workspace is on. Nothing where the workspace is on no branch, or is no repository of its own. */
export async function readBranch (files: WorkspaceFiles): Promise<{ readonly branch?: string }> {
  try {
    const { bytes } = await files.read('.git/HEAD')
    const branch = /^ref: refs\/heads\/(\S+)\s*$/.exec(bytes.toString())?.[1]
    return branch === undefined ? {} : { branch: branch.slice(0, MAX_NAME) }
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return {}
  }
}
