import { type Mark } from '../workspace-files.ts'

/** What a model may want done to a file or a folder. */
export type ActionKind = 'CREATE_FILE' | 'CREATE_DIR' | 'UPDATE_FILE' | 'DELETE_FILE' | 'DELETE_DIR'

/** Files and folders in the order in which a change is carried out. */
export const ORDER: readonly ActionKind[] = ['CREATE_DIR', 'CREATE_FILE', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR']

/** What a change does to one path: it makes `before` into `after`. The reverse of a step is a step, too. */
export interface Step {
  readonly kind: ActionKind
  /** Without links. */
  readonly path: string
  readonly before: Mark
  readonly after: Mark
  /** Permissions before; 0 where nothing was. */
  readonly mode: number
  /** False for what an action brings along: folders on the way, and what is in a deleted folder. */
  readonly isAsked: boolean
}

const REVERSED: Record<ActionKind, ActionKind> = {
  CREATE_FILE: 'DELETE_FILE',
  DELETE_FILE: 'CREATE_FILE',
  UPDATE_FILE: 'UPDATE_FILE',
  CREATE_DIR: 'DELETE_DIR',
  DELETE_DIR: 'CREATE_DIR'
}

/** The steps that take steps back, in their order. */
export function reversed (steps: readonly Step[]): Step[] {
  return steps.map(step => ({ ...step, kind: REVERSED[step.kind], before: step.after, after: step.before })).reverse()
}

/** Whether something is a path, or lies below it. */
export function isAtOrBelow (path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** The folders on the way to a path, the outermost first. */
export function foldersOf (path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
