import { isJsonObject, type Json } from '../../base/json.ts'
import { FileRefusal } from '../file-refusal.ts'
import { type Edit, MAX_EDIT_TEXT, MAX_EDITS } from './edit.ts'
import { MAX_ACTIONS, MAX_CONTENT_BYTES, MAX_TOTAL_BYTES } from '../limits.ts'
import { ORDER, type ActionKind } from './step.ts'

/**
 * The line ends that a change writes: `keep` leaves them as they are in the new text; `lf` makes all of them line feeds, with one at the end of
 * the file.
 */
export type Eol = 'keep' | 'lf'

/** An action of a change: it creates, updates or deletes the file or folder at one path. A model or a person has asked for it. */
export interface Action {
  readonly kind: ActionKind
  readonly path: string
  /** The new content of a file that is created or updated. */
  readonly content?: Buffer
  /** The edits of a file's text, in place of `content`. The new content is computed from them when the file is read. */
  readonly edits?: readonly Edit[]
}

/**
 * Reads the actions of a change of files. They were checked when the model's plan was parsed, and are checked again here, just before
 * they are written to the disk.
 * @throws FileRefusal ERR_SCHEMA_VALIDATION, ERR_TOO_MANY_ACTIONS, ERR_CONTENT_REQUIRED, ERR_CONTENT_TOO_LARGE
 */
export function parseActions (given: Json | undefined, eol: Eol): Action[] {
  if (!Array.isArray(given)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a list of actions')
  if (given.length > MAX_ACTIONS) throw new FileRefusal('ERR_TOO_MANY_ACTIONS', `expected at most ${MAX_ACTIONS} actions, got ${given.length}`)
  const actions = given.map((action: Json) => parseAction(action, eol))
  refuseTooLarge(actions)
  return actions
}

/** Checks the total size of the new contents in a change. @throws FileRefusal ERR_CONTENT_TOO_LARGE */
export function refuseTooLarge (actions: readonly Action[]): void {
  const total = actions.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  if (total > MAX_TOTAL_BYTES) throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${MAX_TOTAL_BYTES} bytes of content in all, got ${total}`)
}

function parseAction (given: Json, eol: Eol): Action {
  const { kind, path, content, edits } = isJsonObject(given) ? own(given) : {}
  if (kind !== 'EDIT_FILE' && !isActionKind(kind)) {
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected as kind one of ${ORDER.join(', ')}, EDIT_FILE, got ${JSON.stringify(kind)}`)
  }
  if (typeof path !== 'string') throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected a path with ${kind}`)
  if (kind === 'EDIT_FILE') return { kind: 'UPDATE_FILE', path, edits: parseEdits(edits, path) }
  if (kind !== 'CREATE_FILE' && kind !== 'UPDATE_FILE') return { kind, path }
  if (typeof content !== 'string') throw new FileRefusal('ERR_CONTENT_REQUIRED', `expected content for ${kind} of ${JSON.stringify(path)}`)
  return { kind, path, content: contentFrom(content, eol, path) }
}

/** Makes the bytes of a file from its new text. @throws FileRefusal ERR_CONTENT_TOO_LARGE, ERR_SCHEMA_VALIDATION for half of a character */
export function contentFrom (text: string, eol: Eol, path: string): Buffer {
  if (!text.isWellFormed()) throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected text for ${JSON.stringify(path)}, got half of a character`)
  const bytes = Buffer.from(withLineEnds(text, eol))
  if (bytes.length > MAX_CONTENT_BYTES) {
    throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${MAX_CONTENT_BYTES} bytes for ${JSON.stringify(path)}, got ${bytes.length}`)
  }
  return bytes
}

function parseEdits (given: Json | undefined, path: string): Edit[] {
  const edits = Array.isArray(given) ? given.map((each: Json) => isJsonObject(each) ? own(each) : {}) : []
  const isEdit = ({ search, replace }: { readonly [name: string]: Json }) => isEditText(search) && search !== '' && isEditText(replace)
  if (edits.length === 0 || edits.length > MAX_EDITS || !edits.every(isEdit)) {
    throw new FileRefusal(
      'ERR_SCHEMA_VALIDATION',
      `expected 1 to ${MAX_EDITS} edits of ${JSON.stringify(path)}, each with "search" and "replace" of at most ${MAX_EDIT_TEXT} whole characters, and no empty "search"`
    )
  }
  return edits.map(({ search, replace }) => ({ search: String(search), replace: String(replace) }))
}

function isEditText (text: Json | undefined): boolean {
  return typeof text === 'string' && text.length <= MAX_EDIT_TEXT && text.isWellFormed()
}

function withLineEnds (content: string, eol: Eol): string {
  if (eol === 'keep') return content
  const plain = content.replaceAll('\r\n', '\n')
  return plain === '' || plain.endsWith('\n') ? plain : `${plain}\n`
}

function isActionKind (kind: unknown): kind is ActionKind {
  return ORDER.some(known => known === kind)
}

/** Copies an object without its prototype, so that a name from a model, such as `constructor`, does not find an inherited member. */
function own (given: object): { readonly [name: string]: Json } {
  return Object.assign(Object.create(null), given)
}
