import { diffArrays } from 'diff'

/** A value of JSON, or `undefined` for a member that is not there. */
type Value = unknown

export interface Merged {
  readonly value: Value
  /** Whether the changes of both sides are in it: none of them touches another. */
  readonly isWhole: boolean
}

/** Joins two changes of one value. Where they touch, the value of `mine` stands, and `isWhole` is false. Texts are joined by lines. */
export function merge (base: Value, mine: Value, theirs: Value): Merged {
  if (isSame(mine, base) || isSame(mine, theirs)) return { value: theirs, isWhole: true }
  if (isSame(theirs, base)) return { value: mine, isWhole: true }
  if (typeof base === 'string' && typeof mine === 'string' && typeof theirs === 'string') return mergeLines(base, mine, theirs)
  if (Array.isArray(base) && Array.isArray(mine) && Array.isArray(theirs) && base.length === mine.length && base.length === theirs.length) {
    const parts = base.map((each: Value, index) => merge(each, mine[index], theirs[index]))
    return { value: parts.map(({ value }) => value), isWhole: parts.every(({ isWhole }) => isWhole) }
  }
  if (isObject(base) && isObject(mine) && isObject(theirs)) {
    const names = [...new Set([base, mine, theirs].flatMap(each => Object.keys(each)))]
    const parts = names.map(name => [name, merge(ownOf(base, name), ownOf(mine, name), ownOf(theirs, name))] as const)
    const entries = parts.filter(([, { value }]) => value !== undefined).map(([name, { value }]) => [name, value] as const)
    return { value: Object.fromEntries(entries), isWhole: parts.every(([, { isWhole }]) => isWhole) }
  }
  return { value: mine, isWhole: false }
}

/** The order of members counts for nothing. */
export function isSame (a: Value, b: Value): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, index) => isSame(each, b[index]))
  if (!isObject(a) || !isObject(b)) return Object.is(a, b)
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every(name => Object.hasOwn(b, name) && isSame(a[name], b[name]))
}

function isObject (value: Value): value is Readonly<Record<string, Value>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function ownOf (value: Readonly<Record<string, Value>>, name: string): Value {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** Lines of the base that were replaced: those from `at` on, `count` of them; 0 for lines that were only added. */
interface Edit {
  readonly at: number
  readonly count: number
  readonly lines: readonly string[]
}

/** Two edits touch where they are at the same line, or at lines that follow each other: nobody knows then what comes first. */
function mergeLines (base: string, mine: string, theirs: string): Merged {
  const before = base.split('\n')
  const edits = [...editsOf(before, mine.split('\n')), ...editsOf(before, theirs.split('\n'))].sort((a, b) => a.at - b.at)
  const isTouched = edits.some((edit, index) => {
    const next = edits[index + 1]
    return next !== undefined && next.at <= edit.at + edit.count
  })
  if (isTouched) return { value: mine, isWhole: false }
  const lines = edits.toReversed().reduce<string[]>((all, { at, count, lines: added }) => all.toSpliced(at, count, ...added), before)
  return { value: lines.join('\n'), isWhole: true }
}

function editsOf (before: readonly string[], after: readonly string[]): readonly Edit[] {
  const edits: Edit[] = []
  let at = 0
  let open: Edit | undefined
  for (const { added, removed, value, count } of diffArrays([...before], [...after])) {
    if (added || removed) {
      open = { at: open?.at ?? at, count: (open?.count ?? 0) + (removed ? count : 0), lines: [...open?.lines ?? [], ...added ? value : []] }
    } else if (open !== undefined) {
      edits.push(open)
      open = undefined
    }
    if (!added) at += count
  }
  return open === undefined ? edits : [...edits, open]
}
