import { FileRefusal } from '../file-refusal.ts'
import { sha256, type WorkspaceFiles } from '../workspace-files.ts'
import { type Action, contentFrom, refuseTooLarge } from './action.ts'
import { type Change } from './change.ts'
import { applyEdits } from './edit.ts'
import { baseOf } from './survey.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Gives each action that writes a file its new content: the edits are applied to the present file. A file that has changed since it was
 * read gets an empty content here; `manifest` then refuses the action, as it refuses every update of a changed file.
 * @throws FileRefusal ERR_EDIT_NOT_FOUND, ERR_EDIT_AMBIGUOUS, ERR_EDIT_OVERLAP, ERR_CONTENT_TOO_LARGE, and for a path that is not allowed
 */
export async function withContents ({ actions, bases, eol }: Extract<Change, { kind: 'do' }>, files: WorkspaceFiles): Promise<Action[]> {
  const whole = await Promise.all(actions.map(async ({ edits, ...action }): Promise<Action> => {
    if (edits === undefined) return action
    const path = await files.resolve(action.path)
    const bytes = await readIfThere(files, path)
    const isBase = bytes !== undefined && sha256(bytes) === baseOf(bases, action.path, path)
    return { ...action, content: isBase ? contentFrom(applyEdits(textOf(bytes, path), edits, path), eol, path) : Buffer.alloc(0) }
  }))
  refuseTooLarge(whole)
  return whole
}

async function readIfThere (files: WorkspaceFiles, path: string): Promise<Buffer | undefined> {
  try {
    return (await files.read(path)).bytes
  } catch (error) {
    if (error instanceof FileRefusal) return undefined
    throw error
  }
}

function textOf (bytes: Buffer, path: string): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new FileRefusal('ERR_EDIT_NOT_FOUND', `${JSON.stringify(path)} is no UTF-8 text, so nothing in it can be edited`)
  }
}
