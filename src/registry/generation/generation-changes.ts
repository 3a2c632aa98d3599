import { type Slices } from '../../runtime/slices.ts'
import { type Extension, type Generation, type Tool } from './generation.ts'
import { isEntryKind, type Kind } from '../kinds/kind.ts'
import { offeredOf } from './offered.ts'

/** One difference between two generations (immutable snapshots of all entries): an entry that was added, removed or changed. */
export interface Change {
  readonly kind: Kind
  /** The entry's id in its dotted form: `team.greet`. */
  readonly id: string
}

/** Lists the entries that were added, removed or changed between two generations. It works in slices, so that requests are served meanwhile. */
export async function changesBetween (before: Generation, after: Generation, kinds: readonly Kind[], slices: Slices): Promise<readonly Change[]> {
  const changes: Change[] = []
  for (const kind of before === after ? [] : kinds.filter(isEntryKind)) {
    const [old, now] = [offeredOf(before, kind), offeredOf(after, kind)]
    if (old === now) continue
    for (const id of [...now.keys(), ...[...old.keys()].filter(each => !now.has(each))]) {
      if (!isSame(kind, old.get(id), now.get(id))) changes.push({ kind, id })
      if (slices.isDue()) await slices.pause()
    }
  }
  return changes
}

/**
 * Whether an entry is equal in two generations. An unchanged entry is the same object in both, except that tools and extensions are sometimes made anew.
 * So tools and extensions are compared by content.
 */
function isSame ({ key }: Kind, old: unknown, now: unknown): boolean {
  if (old === now) return true
  if (old === undefined || now === undefined) return false
  if (key === 'tools') return (old as Tool).definition.revision === (now as Tool).definition.revision
  if (key !== 'extensions') return false
  const [before, after] = [old as Extension, now as Extension]
  return before.definition === after.definition && before.state === after.state
}
