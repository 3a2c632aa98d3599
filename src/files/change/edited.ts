import { utf8In } from '../../base/text.ts'
import { FileRefusal } from '../file-refusal.ts'
import { sha256, type WorkspaceFiles } from '../workspace-files.ts'
import { type Action, contentFrom, refuseTooLarge } from './action.ts'
import { type Change } from './change.ts'
import { applyEdits } from './edit.ts'
import { baseOf } from './survey.ts'

const BYTE_ORDER_MARK = '\ufeff'

/**
 * Gives each action that writes a file its new content, which is made from the present file: edits are applied to it, and a new text gets its byte
 * order mark and its line ends. A file that has changed since it was read gets no such content here; `manifest` then refuses the action, as it
 * refuses every update of a changed file.
 * @throws FileRefusal ERR_EDIT_NOT_FOUND, ERR_EDIT_AMBIGUOUS, ERR_EDIT_OVERLAP, ERR_CONTENT_TOO_LARGE, and for a path that is not allowed or no text
 */
export async function withContents ({ actions, bases, eol }: Extract<Change, { kind: 'do' }>, files: WorkspaceFiles): Promise<Action[]> {
  const whole = await Promise.all(actions.map(async ({ edits, ...action }): Promise<Action> => {
    if (action.kind !== 'UPDATE_FILE') return action
    const { content = Buffer.alloc(0) } = action
    const path = await files.resolve(action.path)
    const bytes = await readIfThere(files, path)
    if (bytes === undefined || sha256(bytes) !== baseOf(bases, action.path, path)) return { ...action, content }
    const before = utf8In(bytes)
    if (before === undefined) throw noText(path, edits === undefined ? 'FORBIDDEN_PATH' : 'ERR_EDIT_NOT_FOUND')
    if (edits !== undefined) return { ...action, content: contentFrom(applyEdits(before, edits, path), eol, path) }
    return { ...action, content: contentFrom(asBefore(content.toString(), before, eol), 'keep', path) }
  }))
  refuseTooLarge(whole)
  return whole
}

/** A new text with the byte order mark and the line ends of the text that it replaces: models write neither. */
function asBefore (text: string, before: string, eol: 'keep' | 'lf'): string {
  const marked = before.startsWith(BYTE_ORDER_MARK) && !text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK + text : text
  const hasCarriageReturns = before.includes('\r\n') && !/(?<!\r)\n/.test(before)
  return eol === 'keep' && hasCarriageReturns ? marked.replace(/\r?\n/g, '\r\n') : marked
}

async function readIfThere (files: WorkspaceFiles, path: string): Promise<Buffer | undefined> {
  try {
    return (await files.read(path)).bytes
  } catch (error) {
    if (error instanceof FileRefusal) return undefined
    throw error
  }
}

function noText (path: string, code: 'FORBIDDEN_PATH' | 'ERR_EDIT_NOT_FOUND'): FileRefusal {
  return new FileRefusal(code, `${JSON.stringify(path)} is no UTF-8 text, so a change of its text would destroy the bytes of other characters`)
}
