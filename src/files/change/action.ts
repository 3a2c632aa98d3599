import { isJsonObject, type Json } from '../../base/json.ts'
import { FileRefusal } from '../file-refusal.ts'
import { MAX_ACTIONS, MAX_CONTENT_BYTES, MAX_TOTAL_BYTES } from '../limits.ts'
import { ORDER, type ActionKind } from './step.ts'

/** Which line ends a change writes. `keep` writes the given ones; `lf` writes only line feeds, with one at the end of the file. */
export type Eol = 'keep' | 'lf'

/** One wish for one path, as a model or a person has named it. */
export interface Action {
  readonly kind: ActionKind
  readonly path: string
  /** Of a file that is created or updated. */
  readonly content?: Buffer
}

/**
 * Reads the actions of a change. Actions were checked when their plan was parsed, and are checked again here, where they are
 * written to a disk.
 * @throws FileRefusal ERR_SCHEMA_VALIDATION, ERR_TOO_MANY_ACTIONS, ERR_CONTENT_REQUIRED, ERR_CONTENT_TOO_LARGE
 */
export function parseActions (given: Json | undefined, eol: Eol): Action[] {
  if (!Array.isArray(given)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a list of actions')
  if (given.length > MAX_ACTIONS) throw new FileRefusal('ERR_TOO_MANY_ACTIONS', `expected at most ${MAX_ACTIONS} actions, got ${given.length}`)
  const actions = given.map((action: Json) => parseAction(action, eol))
  const total = actions.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  if (total > MAX_TOTAL_BYTES) throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${MAX_TOTAL_BYTES} bytes of content in all, got ${total}`)
  return actions
}

function parseAction (given: Json, eol: Eol): Action {
  const { kind, path, content } = isJsonObject(given) ? own(given) : {}
  if (!isActionKind(kind)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected as kind one of ${ORDER.join(', ')}, got ${JSON.stringify(kind)}`)
  if (typeof path !== 'string') throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected a path with ${kind}`)
  if (kind !== 'CREATE_FILE' && kind !== 'UPDATE_FILE') return { kind, path }
  if (typeof content !== 'string') throw new FileRefusal('ERR_CONTENT_REQUIRED', `expected content for ${kind} of ${JSON.stringify(path)}`)
  const bytes = Buffer.from(withLineEnds(content, eol))
  if (bytes.length > MAX_CONTENT_BYTES) {
    throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${MAX_CONTENT_BYTES} bytes for ${JSON.stringify(path)}, got ${bytes.length}`)
  }
  return { kind, path, content: bytes }
}

function withLineEnds (content: string, eol: Eol): string {
  if (eol === 'keep') return content
  const plain = content.replaceAll('\r\n', '\n')
  return plain === '' || plain.endsWith('\n') ? plain : `${plain}\n`
}

function isActionKind (kind: unknown): kind is ActionKind {
  return ORDER.some(known => known === kind)
}

/** An object without what its prototype would lend. */
function own (given: object): { readonly [name: string]: Json } {
  return Object.assign(Object.create(null), given)
}
