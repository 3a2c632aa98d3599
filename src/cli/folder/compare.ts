import { type ApiClient } from '../api-client.ts'
import { ENTRY_KINDS, type EntryKind } from '../entries/entry-kinds.ts'
import { objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { usageError } from '../exit-codes.ts'
import { type KnownTags, readKnownTags } from './known-tags.ts'
import { type Folder, type LocalEntry, nameOf, readFolder } from './read-folder.ts'

/** An entry that the service stores under a key of its own. A prompt that is a part of an extension (another kind of entry) has no such key. */
export interface RemoteEntry {
  readonly kind: EntryKind
  readonly id: string
  /**
   * The entity tag (a hash of the value) without quotes; `''` for a value that the service does not show as a whole, because other entries
   * are stored below its key, and, for a push, where what is stored cannot be used.
   */
  readonly tag: string
  /** `missing`: the store has lost it, and the service holds it; `broken`: what is stored cannot be used, and an earlier version is served. */
  readonly stored: string
}

/** An entry whose value differs between a folder and a service, or that only one of them has. */
export interface Difference {
  readonly name: string
  readonly kind: EntryKind
  readonly id: string
  readonly local: LocalEntry | undefined
  readonly remote: RemoteEntry | undefined
  /** Whether the service holds the entry: it is served, although the store has lost it. For a push, an entry that is held is not there. */
  readonly isHeld: boolean
  /**
   * The entity tag that the entry had when it was last equal in the folder and at the service; `undefined` if it never was. If the folder or
   * the service has another tag for the entry now, the entry has been edited there since.
   */
  readonly known: string | undefined
}

/** The result of comparing a folder with a service. */
export interface Comparison {
  readonly folder: Folder
  readonly differences: readonly Difference[]
  /** The entity tags of the entries that are equal in the folder and at the service, by the names of the entries. */
  readonly same: KnownTags
  readonly known: KnownTags
  /**
   * How many entries only the service has, in modules (first parts of ids) of which the folder has no entry. They belong to other people,
   * and are not touched.
   */
  readonly others: number
}

/**
 * Compares a folder with a service by the entity tags of their entries, which takes one listing for each kind.
 * @param direction a pull takes every entry of the service, also those of modules (first parts of ids) that the folder does not have
 * @throws CliError
 */
export async function compareFolder (
  path: string,
  url: string,
  { api, output }: { readonly api: ApiClient, readonly output: Output },
  direction: 'push' | 'pull'
): Promise<Comparison> {
  const warnings: string[] = []
  const [folder, remote] = await Promise.all([readFolder(path, message => { warnings.push(message) }), listRemote(api)])
  for (const warning of warnings) await output.words(`warning: ${warning}`)
  if (folder.problems.length > 0) throw usageError(`aps lint says more of what cannot be read:\n${folder.problems.join('\n')}`)
  const known = await readKnownTags(folder.root, url)
  const modules = modulesOf(folder)
  const differences: Difference[] = []
  const same = new Map<string, string>()
  let others = 0
  for (const name of [...new Set([...folder.entries.keys(), ...remote.keys()])].sort()) {
    const [local, listed] = [folder.entries.get(name), remote.get(name)]
    const { kind, id } = (local ?? listed) as LocalEntry | RemoteEntry
    const isHeld = listed?.stored === 'missing'
    const there = direction === 'push' ? asStored(listed) : listed
    if (local === undefined && there === undefined) continue
    if (local !== undefined && local.tag === there?.tag) same.set(name, local.tag)
    else if (local === undefined && direction === 'push' && !known.has(name) && !modules.has(moduleName(kind, id))) others++
    else differences.push({ name, kind, id, local, remote: there, isHeld, known: known.get(name) })
  }
  return { folder, differences, same, known, others }
}

/** What a push replaces. What the store has lost is not there, and what is broken there differs from everything. */
function asStored (entry: RemoteEntry | undefined): RemoteEntry | undefined {
  if (entry?.stored === 'missing') return undefined
  return entry?.stored === 'broken' ? { ...entry, tag: '' } : entry
}

/** Lists, by their names, all entries that a service stores under keys of their own: all but the prompts that are parts of extensions. */
export async function listRemote (api: ApiClient): Promise<ReadonlyMap<string, RemoteEntry>> {
  const listings = await Promise.all(ENTRY_KINDS.map(async kind => {
    const rows = await api.list(`/api/${kind.name}`, { limit: '1000', detail: 'true', ...(kind.key === 'extensions' ? { type: 'all' } : {}) })
    const owned = rows.map(objectOf).filter(({ etag }) => etag !== undefined || kind.key === 'environs')
    return owned.map(({ id, etag, stored }): RemoteEntry => ({ kind, id: textOf(id), tag: textOf(etag).replaceAll('"', ''), stored: textOf(stored) }))
  }))
  return new Map(listings.flat().map(entry => [nameOf(entry.kind, entry.id), entry]))
}

/** The modules of which a folder has entries. */
export function modulesOf ({ entries }: Folder): ReadonlySet<string> {
  return new Set([...entries.values()].map(({ kind, id }) => moduleName(kind, id)))
}

/** The module of an entry: its kind and the first part of its id, as `prompts/review`. */
export function moduleName (kind: EntryKind, id: string): string {
  return nameOf(kind, id.split('.', 1)[0] as string)
}
