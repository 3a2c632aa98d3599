import { beginningOf } from '../../base/text.ts'
import { MAX_EDIT_TEXT, MAX_EDITS } from '../../files/change/edit.ts'
import { conflictAmong } from '../../files/change/step.ts'
import { describeWhitelist, isForbidden, isProtected, isWhitelisted, normalisePath, type Whitelist } from '../../files/path-rules.ts'
import { type PlanAction, type PlanProblem } from './parse-plan.ts'
import { type PlanLimits } from './plan-setting.ts'

/** The largest share of unprintable characters that a text can have. A content with more of them is no text. */
const MAX_UNPRINTABLE = 0.1

/** The length to which paths are cut in messages, in UTF-16 units. */
const MAX_SHOWN = 100

/**
 * Checks the actions of a model by their text alone, before any file is read.
 * @returns the actions with their paths in normal form, or the problem of the first wrong action
 */
export function validateActions (actions: readonly PlanAction[], limits: PlanLimits, whitelist: Whitelist): readonly PlanAction[] | PlanProblem {
  const { max_actions: most, max_total_content_bytes: mostBytes } = limits
  if (actions.length > most) return { code: 'ERR_TOO_MANY_ACTIONS', message: `a plan has at most ${most} actions; this one has ${actions.length}` }
  const normal: PlanAction[] = []
  for (const action of actions) {
    const normalised = normalisePath(action.path)
    if ('code' in normalised) return normalised
    const { path } = normalised
    const problem = problemOfPath(action, path, whitelist) ?? problemOfContent(action, path, limits)
    if (problem !== undefined) return problem
    normal.push({ ...action, path })
  }
  const bytes = normal.reduce((sum, { content = '' }) => sum + bytesOf(content), 0)
  if (bytes > mostBytes) return { code: 'ERR_CONTENT_TOO_LARGE', message: `the contents of a plan have at most ${mostBytes} bytes; these have ${bytes}` }
  const conflict = conflictAmong(normal)
  return conflict === undefined ? normal : conflictOf(...conflict)
}

function problemOfPath ({ kind }: PlanAction, path: string, whitelist: Whitelist): PlanProblem | undefined {
  if (isProtected(path)) return { code: 'PROTECTED_PATH', message: `${shown(path)} is protected: it is neither written nor deleted` }
  const isFolder = kind === 'CREATE_DIR' || kind === 'DELETE_DIR'
  const mayChange = isFolder ? !isForbidden(path, whitelist) : isWhitelisted(path, whitelist)
  if (mayChange) return undefined
  return { code: 'FORBIDDEN_PATH', message: `${shown(path)} is none of the names that may be changed: ${describeWhitelist(whitelist)}` }
}

function problemOfContent ({ kind, content, edits = [] }: PlanAction, path: string, { max_file_bytes: most }: PlanLimits): PlanProblem | undefined {
  if (kind === 'EDIT_FILE') return problemOfEdits(edits, path)
  if (kind !== 'CREATE_FILE' && kind !== 'UPDATE_FILE') return undefined
  if (content === undefined) return { code: 'ERR_CONTENT_REQUIRED', message: `${kind} of ${shown(path)} needs "content"` }
  const bytes = bytesOf(content)
  if (bytes > most) return { code: 'ERR_CONTENT_TOO_LARGE', message: `a file has at most ${most} bytes; ${shown(path)} would have ${bytes}` }
  if (!isPseudoBinary(content)) return undefined
  const reason = `it has NUL, half of a character, or more than ${MAX_UNPRINTABLE * 100} % of it cannot be printed`
  return { code: 'ERR_PSEUDO_BINARY', message: `the content of ${shown(path)} is no text: ${reason}` }
}

function problemOfEdits (edits: NonNullable<PlanAction['edits']>, path: string): PlanProblem | undefined {
  if (edits.length === 0) return { code: 'ERR_CONTENT_REQUIRED', message: `EDIT_FILE of ${shown(path)} needs "edits"` }
  if (edits.length > MAX_EDITS) return { code: 'ERR_SCHEMA_VALIDATION', message: `a file has at most ${MAX_EDITS} edits; ${shown(path)} has ${edits.length}` }
  for (const [index, edit] of edits.entries()) {
    const problem = problemOfEdit(edit, `edits[${index}] of ${shown(path)}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The problem of one edit of a file; `undefined` when the edit is right. @param name of the edit, for messages */
function problemOfEdit ({ search, replace }: NonNullable<PlanAction['edits']>[number], name: string): PlanProblem | undefined {
  if (search === '') {
    const message = `${name}: "search" is empty; it has the text that is replaced, with enough around it to be found once`
    return { code: 'ERR_SCHEMA_VALIDATION', message }
  }
  if (Math.max(search.length, replace.length) > MAX_EDIT_TEXT) {
    return { code: 'ERR_CONTENT_TOO_LARGE', message: `a text of an edit has at most ${MAX_EDIT_TEXT} characters; ${name} has more` }
  }
  if (isPseudoBinary(replace) || !search.isWellFormed()) return { code: 'ERR_PSEUDO_BINARY', message: `${name} is no text` }
  return undefined
}

/**
 * Whether a file's content is no text. Letters of every script are text. Half of a character (an unpaired surrogate) has no bytes. Unprintable
 * are only control characters (except line ends and tabs) and U+FFFD, which stands for bytes that could not be decoded.
 */
function isPseudoBinary (content: string): boolean {
  if (content.includes('\0') || !content.isWellFormed()) return true
  let [unprintable, length] = [0, 0]
  for (const point of content) {
    length++
    if (/[\p{Cc}\uFFFD]/u.test(point) && !'\n\r\t'.includes(point)) unprintable++
  }
  return unprintable > length * MAX_UNPRINTABLE
}

function conflictOf (one: PlanAction, other: PlanAction): PlanProblem {
  return { code: 'ERR_ACTION_CONFLICT', message: `${one.kind} of ${shown(one.path)} and ${other.kind} of ${shown(other.path)} exclude each other` }
}

/** The length of a text in bytes of UTF-8. */
function bytesOf (text: string): number {
  return Buffer.byteLength(text)
}

function shown (path: string): string {
  return JSON.stringify(beginningOf(path, MAX_SHOWN))
}
