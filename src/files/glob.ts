/** Patterns come from strangers, so they are matched without regular expressions, which backtrack. */

/** The length is in UTF-16 units. */
const MAX_LENGTH = 200
const MAX_ALTERNATIVES = 64

const ANY = Symbol('any')

type GlobPart = typeof ANY | ((item: string) => boolean)

export const GLOB_EXPECTED = `a glob has at most ${MAX_LENGTH} characters, and braces for at most ${MAX_ALTERNATIVES} patterns, as src/**/*.{ts,tsx} has two`

/** Without a slash a glob matches names in any folder; `!` inverts it. @returns undefined for one that is too long or makes too many patterns */
export function globOf (glob: string): ((path: string) => boolean) | undefined {
  const isInverted = glob.startsWith('!')
  const alternatives = glob.length > MAX_LENGTH ? undefined : alternativesOf(isInverted ? glob.slice(1) : glob)
  const matches = alternatives?.map(pattern => matchPath(pattern.replace(/^\.?\//, ''), pattern.includes('/')))
  return matches && (path => {
    const names = path.split('/')
    return matches.some(match => match(names)) !== isInverted
  })
}

/** `isWhole`: against the whole path, and not its last name only. */
export function matchPath (pattern: string, isWhole: boolean): (names: readonly string[]) => boolean {
  if (!isWhole) {
    const matchName = nameMatch(pattern)
    return names => matchName(names.at(-1) as string)
  }
  const parts = pattern.split('/')
  // At the end, `**` stands for what is inside a folder, and not for the folder itself.
  const wanted = parts.flatMap((part, index): GlobPart[] => !/^\*{2,}$/.test(part) ? [nameMatch(part)] : index === parts.length - 1 ? [() => true, ANY] : [ANY])
  return names => matchItems(wanted, names)
}

/** Most patterns are a plain name or `*.ending`, whose test is faster. */
function nameMatch (pattern: string): (name: string) => boolean {
  const ending = pattern.startsWith('*') ? pattern.slice(1) : pattern
  if (!/[*?[\\]/.test(ending)) return ending === pattern ? name => name === ending : name => name.endsWith(ending)
  const characters: GlobPart[] = []
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string
    const end = character === '[' ? endOfClass(pattern, at) : -1
    if (character === '*') characters.push(ANY)
    else if (character === '?') characters.push(() => true)
    else if (end > 0) characters.push(classMatch(pattern.slice(at + 1, end)))
    else {
      const plain = character === '\\' ? pattern[++at] : character
      characters.push(given => given === plain)
    }
    at = Math.max(at, end)
  }
  return name => matchItems(characters, name)
}

/** A first `]` is a member; -1 where none closes, and the bracket stands for itself. */
function endOfClass (pattern: string, start: number): number {
  return pattern.indexOf(']', start + (/[!^]/.test(pattern[start + 1] ?? '') ? 3 : 2))
}

function classMatch (members: string): (character: string) => boolean {
  const isInverted = /^[!^]/.test(members)
  const ranges: Array<readonly [from: string, to: string]> = []
  for (let at = isInverted ? 1 : 0; at < members.length; at++) {
    if (members[at] === '\\') at++
    const from = members[at] ?? '\\'
    const isRange = members[at + 1] === '-' && at + 2 < members.length
    ranges.push([from, isRange ? members[at += 2] as string : from])
  }
  return character => ranges.some(([from, to]) => from <= character && character <= to) !== isInverted
}

/** After a mistake only the last `ANY` takes one item more: no earlier one could help. */
function matchItems (pattern: readonly GlobPart[], items: ArrayLike<string>): boolean {
  let [part, at, last, taken] = [0, 0, -1, 0]
  while (at < items.length) {
    const wanted = pattern[part]
    if (wanted === ANY) {
      last = part++
      taken = at
    } else if (wanted?.(items[at] as string) === true) {
      part++
      at++
    } else if (last < 0) return false
    else {
      part = last + 1
      at = ++taken
    }
  }
  while (pattern[part] === ANY) part++
  return part === pattern.length
}

/** @returns undefined for too many patterns */
function alternativesOf (glob: string): string[] | undefined {
  const done: string[] = []
  const open = [glob]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const expanded = expandFirst(next)
    if (expanded === undefined) done.push(next)
    else open.push(...expanded)
    if (done.length + open.length > MAX_ALTERNATIVES) return undefined
  }
  return done
}

/** Braces without a comma stand for themselves. */
function expandFirst (glob: string): string[] | undefined {
  for (let start = glob.indexOf('{'); start >= 0; start = glob.indexOf('{', start + 1)) {
    const [end, ...commas] = cutsOf(glob, start)
    if (end === undefined || commas.length === 0) continue
    const cuts = [start, ...commas, end]
    return cuts.slice(1).map((cut, index) => `${glob.slice(0, start)}${glob.slice((cuts[index] as number) + 1, cut)}${glob.slice(end + 1)}`)
  }
  return undefined
}

function cutsOf (glob: string, start: number): number[] {
  const commas: number[] = []
  for (let [at, depth] = [start, 0]; at < glob.length; at++) {
    if (glob[at] === '\\') at++
    else if (glob[at] === '{') depth++
    else if (glob[at] === ',' && depth === 1) commas.push(at)
    else if (glob[at] === '}' && --depth === 0) return [at, ...commas]
  }
  return []
}
