import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { FileRefusal } from '../file-refusal.ts'
import { parseActions, type Action, type Eol } from './action.ts'
import { parseShown, type Shown } from './shown.ts'
import { type Bases } from './survey.ts'

/**
 * A change of files in a workspace: actions to do, or an undo or redo of earlier changes. `shown` is the state of each path when the change
 * was shown to the person who agreed to it; the change is only done if the paths are still in this state. `shown` is `undefined` for a change
 * to which nobody had to agree.
 */
export type Change = { readonly shown: Shown | undefined } & (
  | { readonly kind: 'do', readonly actions: readonly Action[], readonly bases: Bases, readonly eol: Eol }
  /**
   * An undo or a redo of the session's changes.
   * @param paths only these paths, and all that is below them, are restored; `undefined` for all
   * @param of the number (`seq.n`) of the session's effect whose change is to be undone; without it, the latest change is undone
   */
  | { readonly kind: 'undo' | 'redo', readonly paths: readonly string[] | undefined, readonly of?: string }
)

/** Reads a change of files. @throws FileRefusal with the code of the problem */
export function parseChange (given: JsonObject): Change {
  const wish = member(given, 'do')
  if (wish !== undefined) {
    const bases = Object.entries(member(wish, 'bases') ?? {}).filter((base): base is [string, string] => typeof base[1] === 'string')
    const eol = own(wish, 'eol') === 'lf' ? 'lf' : 'keep'
    return { kind: 'do', actions: parseActions(own(wish, 'actions'), eol), bases: Object.fromEntries(bases), eol, shown: shownIn(wish) }
  }
  for (const kind of ['undo', 'redo'] as const) {
    const back = member(given, kind)
    const of = back && own(back, 'of')
    if (back !== undefined) return { kind, paths: pathsOf(own(back, 'paths')), ...(typeof of === 'string' ? { of } : {}), shown: shownIn(back) }
  }
  throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a change with do, undo or redo')
}

function shownIn (wish: JsonObject): Shown | undefined {
  const shown = own(wish, 'shown')
  return shown === undefined ? undefined : parseShown(shown)
}

function pathsOf (given: Json | undefined): readonly string[] | undefined {
  if (given === undefined || given === null) return undefined
  if (Array.isArray(given) && given.every(path => typeof path === 'string')) return given
  throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected paths as a list of texts')
}

function member (given: JsonObject, name: string): JsonObject | undefined {
  const value = own(given, name)
  return isJsonObject(value) ? value : undefined
}

function own (given: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(given, name) ? given[name] : undefined
}
