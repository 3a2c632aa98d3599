import { access, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { RejectedEntry } from '../../registry/diagnostic/diagnostic.ts'
import { isDotpromptFile, isValueFile, keyToFiles } from '../../store/directory/directory-paths.ts'
import { listDirectory } from '../../store/directory/directory-list.ts'
import { createTrueFolders, readKey } from '../../store/directory/directory-read.ts'
import { keyToPath, kindPrefix, type StoreKeys } from '../../store/keys.ts'
import { StoreError } from '../../store/store.ts'
import { ENTRY_KINDS, type EntryKind, tagOf } from '../entries/entry-kinds.ts'
import { type EntryText } from '../entries/entry-text.ts'
import { usageError } from '../exit-codes.ts'

/** The most files that are read at the same time. */
const OPEN_FILES = 32

/** How the paths of a folder's files become keys, as in a store. The prefix of the keys does not matter, since the keys never leave the process. */
export const FOLDER_KEYS: StoreKeys = { prefix: 'shenma:', kinds: ENTRY_KINDS }

/** An entry of a folder. */
export interface LocalEntry {
  readonly kind: EntryKind
  readonly id: string
  /** The path of the file, relative to the folder. */
  readonly file: string
  readonly entry: EntryText
  /** The entity tag that the service gives an entry with this content. */
  readonly tag: string
}

/** The entries of a folder. */
export interface Folder {
  /** The path of the folder, with symbolic links resolved. */
  readonly root: string
  /** The entries by the names that `nameOf` gives them. */
  readonly entries: ReadonlyMap<string, LocalEntry>
  /** The files that cannot be read, as `file: reason`. */
  readonly problems: readonly string[]
}

/** The name of an entry among entries of all kinds, such as `prompts/review.short`. */
export function nameOf ({ name }: Pick<EntryKind, 'name'>, id: string): string {
  return `${name}/${id}`
}

/**
 * Reads all entries of a folder, as a service does that serves the folder.
 * @param warn called about files that are not read
 * @throws CliError when the folder cannot be read
 */
export async function readFolder (path: string, warn: (message: string) => void, kinds: readonly EntryKind[] = ENTRY_KINDS): Promise<Folder> {
  const root = await realpath(path).catch((error: NodeJS.ErrnoException) => { throw usageError(`${path} cannot be read: ${error.code ?? error.message}`) })
  const listing = await listDirectory(root, FOLDER_KEYS.prefix, { ...FOLDER_KEYS, kinds }, warn).catch((error: unknown) => {
    throw error instanceof StoreError ? usageError(error.message) : error
  })
  const folders = createTrueFolders(root)
  const limit = pLimit(OPEN_FILES)
  const entries: LocalEntry[] = []
  const problems: string[] = []
  await Promise.all(listing.keys.toSorted().map(key => limit(async () => {
    const kind = kinds.find(each => key.startsWith(kindPrefix(FOLDER_KEYS.prefix, each.key))) as EntryKind
    const [file, value] = await Promise.all([fileOf(root, key), readKey(folders, key, FOLDER_KEYS)])
    if (value.kind === 'bad') problems.push(`${file}: the value ${value.reason}`)
    if (value.kind !== 'text') return
    try {
      entries.push({ kind, id: keyToPath(key, kindPrefix(FOLDER_KEYS.prefix, kind.key)), file, entry: sentAs(file, value.text), tag: tagOf(kind, value.text) })
    } catch (error) {
      if (!(error instanceof RejectedEntry)) throw error
      problems.push(`${file}: ${error.message}`)
    }
  })))
  const named = entries.map(entry => [nameOf(entry.kind, entry.id), entry] as const)
  return { root, entries: new Map(named.sort(([one], [other]) => one < other ? -1 : 1)), problems: problems.sort() }
}

/** Finds the file that holds the entry with this key. @returns the path, relative to the folder */
async function fileOf (root: string, key: string): Promise<string> {
  const files = keyToFiles(key, FOLDER_KEYS)
  for (const file of files) if (await access(join(root, file)).then(() => true, () => false)) return file
  return files[0] as string
}

/**
 * The content of a file as the body of a PUT. A SKILL.md is sent as a text, whatever it contains. YAML and Dotprompt were converted into
 * JSON when the file was read.
 */
function sentAs (file: string, text: string): EntryText {
  return isValueFile(file.slice(file.lastIndexOf('/') + 1)) || isDotpromptFile(file) ? { text, type: 'application/json' } : { text, type: 'text/plain' }
}
