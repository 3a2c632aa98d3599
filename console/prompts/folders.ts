/** What the list of prompts needs to know of a row to put it at its place. */
export interface Listed { readonly id: string, readonly state: string, readonly updatedAt: string }

export type Order = 'name' | 'changed' | 'problems'

/** A line of the list: a prompt, or a folder of at least two prompts whose ids begin alike. */
export type Line<R extends Listed> =
  | { readonly row: R, readonly depth: number, /** How much of the id the folders above it say, in characters. */ readonly said: number }
  | Folder

export interface Folder {
  /** With the dot at its end. */
  readonly folder: string
  readonly depth: number
  readonly said: number
  readonly count: number
  readonly wrong: number
  readonly isOpen: boolean
}

/**
 * Puts prompts into folders by the dots of their ids. Folders that hold nothing but one folder are one line with it, and a prompt that would
 * be alone in a folder stands there without one. A folder stands where the first of its prompts would.
 */
export function foldRows<R extends Listed> (rows: readonly R[], order: Order, isClosed: (folder: string) => boolean): ReadonlyArray<Line<R>> {
  const lines: Array<Line<R>> = []
  const write = (branch: readonly R[], prefix: string, depth: number) => {
    for (const { first, folder, inside } of placesIn(branch, prefix)) {
      if (folder === undefined) {
        lines.push({ row: first, depth, said: prefix.length })
        continue
      }
      const isOpen = !isClosed(folder)
      lines.push({ folder, depth, said: prefix.length, count: inside.length, wrong: inside.filter(isWrong).length, isOpen })
      if (isOpen) write(inside, folder, depth + 1)
    }
  }
  write([...rows].sort(ORDERS[order]), '', 0)
  return lines
}

/** All folders that `foldRows` would show if each was open. */
export function foldersOf (rows: readonly Listed[]): readonly string[] {
  return foldRows(rows, 'name', () => false).flatMap(line => 'folder' in line ? [line.folder] : [])
}

const isWrong = ({ state }: Listed): boolean => state !== 'valid'

const byName = (a: Listed, b: Listed): number => a.id < b.id ? -1 : Number(a.id > b.id)

const ORDERS: Readonly<Record<Order, (a: Listed, b: Listed) => number>> = {
  name: byName,
  changed: (a, b) => a.updatedAt === b.updatedAt ? byName(a, b) : a.updatedAt < b.updatedAt ? 1 : -1,
  problems: (a, b) => Number(isWrong(b)) - Number(isWrong(a)) || byName(a, b)
}

interface PlaceOf<R> { readonly first: R, readonly folder: string | undefined, readonly inside: readonly R[] }

/** @param rows in their order, all of which begin with the prefix */
function placesIn<R extends Listed> (rows: readonly R[], prefix: string): ReadonlyArray<PlaceOf<R>> {
  const folders = new Map<string, R[]>()
  for (const row of rows) {
    const own = folderOf(row.id, prefix)
    if (own === undefined) continue
    const inside = folders.get(own)
    if (inside === undefined) folders.set(own, [row])
    else inside.push(row)
  }
  const places: Array<PlaceOf<R>> = []
  const begun = new Set<string>()
  for (const row of rows) {
    const own = folderOf(row.id, prefix)
    const inside = own === undefined ? [] : folders.get(own) ?? []
    if (own === undefined || inside.length < 2) places.push({ first: row, folder: undefined, inside: [] })
    else if (!begun.has(own)) {
      begun.add(own)
      places.push({ first: row, folder: commonFolder(inside, own), inside })
    }
  }
  return places
}

function folderOf (id: string, prefix: string): string | undefined {
  const dot = id.indexOf('.', prefix.length)
  return dot === -1 ? undefined : id.slice(0, dot + 1)
}

/** The deepest folder that all of these prompts are in. */
function commonFolder (rows: readonly Listed[], folder: string): string {
  const next = folderOf((rows[0] as Listed).id, folder)
  return next !== undefined && rows.every(({ id }) => id.startsWith(next)) ? commonFolder(rows, next) : folder
}
