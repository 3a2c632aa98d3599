interface Entry { readonly path: string }

/** A row of the tree of files. A folder has all files below it. */
export type TreeRow<F> =
  | { readonly kind: 'file', readonly file: F, readonly name: string, readonly depth: number }
  | { readonly kind: 'folder', readonly path: string, readonly name: string, readonly depth: number, readonly files: readonly F[], readonly isFolded: boolean }

type FoldedAt = (path: string, depth: number) => boolean

interface Folder<F> {
  readonly path: string
  readonly folders: Map<string, Folder<F>>
  readonly own: F[]
  readonly all: F[]
}

/**
 * Lays out the files of a change as a tree of folders, in their order. A folder that has nothing but another folder is joined with it. All
 * files together are the folder with the path ``, if there is more than one entry beside a folder.
 */
export function treeRows<F extends Entry> (files: readonly F[], isFoldedAt: FoldedAt): ReadonlyArray<TreeRow<F>> {
  const root: Folder<F> = { path: '', folders: new Map(), own: [], all: [...files] }
  for (const file of files) {
    let folder: Folder<F> = root
    for (const name of file.path.split('/').slice(0, -1)) {
      const path = folder === root ? name : `${folder.path}/${name}`
      const next: Folder<F> = folder.folders.get(name) ?? { path, folders: new Map(), own: [], all: [] }
      folder.folders.set(name, next)
      next.all.push(file)
      folder = next
    }
    folder.own.push(file)
  }
  adopt(root)
  const rows: Array<TreeRow<F>> = []
  const isWhole = root.folders.size > 0 && root.folders.size + root.own.length > 1
  if (isWhole) rows.push({ kind: 'folder', path: '', name: '', depth: 0, files: root.all, isFolded: isFoldedAt('', 0) })
  if (!isWhole || !isFoldedAt('', 0)) lay(root, isWhole ? 1 : 0, rows, isFoldedAt)
  return rows
}

/** A folder that comes or goes itself belongs to what is below it. */
function adopt<F extends Entry> (folder: Folder<F>): void {
  for (const [index, file] of [...folder.own.entries()].reverse()) {
    const own = folder.folders.get(file.path.split('/').at(-1) ?? '')
    if (own === undefined) continue
    folder.own.splice(index, 1)
    own.own.push(file)
    own.all.push(file)
  }
  for (const each of folder.folders.values()) adopt(each)
}

function lay<F extends Entry> (folder: Folder<F>, depth: number, rows: Array<TreeRow<F>>, isFoldedAt: FoldedAt): void {
  for (const each of folder.folders.values()) {
    let [last, name] = [each, each.path.slice(folder.path === '' ? 0 : folder.path.length + 1)]
    while (last.folders.size === 1 && last.own.length === 0) {
      const [[part, next]] = [...last.folders] as [[string, Folder<F>]]
      ;[last, name] = [next, `${name}/${part}`]
    }
    const isFolded = isFoldedAt(last.path, depth)
    rows.push({ kind: 'folder', path: last.path, name, depth, files: last.all, isFolded })
    if (!isFolded) lay(last, depth + 1, rows, isFoldedAt)
  }
  for (const file of folder.own) {
    // What a folder has adopted is the folder itself.
    const isItself = file.path === folder.path
    rows.push({ kind: 'file', file, name: isItself ? `${file.path.split('/').at(-1) ?? ''}/` : file.path.split('/').at(-1) ?? '', depth })
  }
}
