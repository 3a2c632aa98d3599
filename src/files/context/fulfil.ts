import { type WorkspaceFiles } from '../workspace-files.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { FileRefusal } from '../file-refusal.ts'
import { readMemory, type MemoryPlace } from '../memory/memory-files.ts'
import { describeEnvironment } from './describe-environment.ts'
import { type Journal } from '../change/journal.ts'
import { listFiles } from './list.ts'
import { preview } from './preview.ts'
import { readLog } from './read-log.ts'
import { readRange } from './read-range.ts'
import { search } from './search.ts'

/** The most requests that one read answers, and the largest total length of the answers (except previews of changes), in UTF-16 units. */
const MAX_REQUESTS = 100
const MAX_TOTAL = 200_000

/** The largest length of a branch name, in UTF-16 units; a longer one is cut. */
const MAX_BRANCH = 200

/** The place from which context for a model is read: the files, journal and logs of a workspace, for a session. */
export interface ContextPlace extends MemoryPlace {
  readonly files: WorkspaceFiles
  readonly journal: Journal
  /** The id of the session that reads. */
  readonly session: string
  /** The paths of the log files that the operator lets models read, by the operator's names for them. */
  readonly logs: ReadonlyMap<string, string>
  /** An abort ends a running search, which returns what it has found so far. */
  readonly signal: AbortSignal
}

/**
 * Reads what a model asks for (files, searches, logs …). Each request gets one block of context; a request that cannot be read gets a block
 * of the type `missing`, with the reason.
 */
export async function fulfil (requests: readonly JsonObject[], place: ContextPlace): Promise<JsonObject[]> {
  const blocks: JsonObject[] = []
  let total = 0
  for (const [index, request] of requests.entries()) {
    const block = total > MAX_TOTAL || index >= MAX_REQUESTS ? missing(request, 'too much was asked for at once') : await blockOf(request, place)
    const length = JSON.stringify(block).length
    // The preview of a change is always included as a whole, since it has limits of its own.
    const fits = block['type'] === 'preview' || total + length <= MAX_TOTAL
    blocks.push(fits ? block : missing(request, 'it is too long together with what was asked for before; ask for fewer lines'))
    total += fits ? length : 0
  }
  return blocks
}

async function blockOf (request: JsonObject, place: ContextPlace): Promise<JsonObject> {
  try {
    return await read(request, place)
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return { ...missing(request, `${error.code}: ${error.message}`), code: error.code }
  }
}

async function read (request: JsonObject, place: ContextPlace): Promise<JsonObject> {
  const { files, logs, signal } = place
  const text = (name: string): string => {
    const value = own(request, name)
    if (typeof value === 'string') return value
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected a text as ${name}`)
  }
  const count = (name: string): number | undefined => {
    const value = own(request, name)
    return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
  }
  switch (own(request, 'type')) {
    case 'read_file':
      return {
        type: 'file',
        ...(await readRange(files, text('path'), { start: count('start_line'), end: count('end_line'), most: count('max_chars') }))
      }
    case 'search': {
      const { hits, isTruncated } = await search(
        files,
        text('query'),
        own(request, 'glob') === undefined || own(request, 'glob') === null ? undefined : text('glob'),
        signal
      )
      return { type: 'search', query: text('query'), hits: hits.map(hit => ({ ...hit })), truncated: isTruncated }
    }
    case 'logs': {
      const location = logs.get(text('source'))
      if (location === undefined) {
        throw new FileRefusal('PATH_NOT_FOUND', `there is no source of logs "${text('source')}"; there is ${[...logs.keys()].join(', ') || 'none'}`)
      }
      return { type: 'logs', source: text('source'), text: await readLog(files, location, count('last_n')) }
    }
    case 'list': {
      const [path, glob] = ['path', 'glob'].map(name => own(request, name) === undefined || own(request, name) === null ? undefined : text(name))
      return { type: 'list', ...await listFiles(files, path, glob, signal), ...(glob === undefined ? {} : { glob }) }
    }
    case 'env':
      return { type: 'env', text: await describeEnvironment(files) }
    case 'memory':
      return { type: 'memory', ...(await readMemory(place)), ...(await readBranch(files)) }
    case 'preview': {
      const change = own(request, 'change')
      if (!isJsonObject(change)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a change to be shown')
      const given = own(request, 'together')
      const together = Array.isArray(given) ? given.filter(each => typeof each === 'string') : []
      return { type: 'preview', ...(await preview(place, change, together)) } as unknown as JsonObject
    }
    default:
      throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected as type one of read_file, search, logs, list, env, memory, preview')
  }
}

function missing (request: JsonObject, reason: string): JsonObject {
  // The sender of a request for a preview knows the change in it, so the change is left out of the answer.
  const { change, ...rest } = request
  return { type: 'missing', request: rest, reason }
}

function own (given: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(given, name) ? given[name] : undefined
}

/** Reads the name of the git branch that a workspace is on; empty when it is on no branch, or is no repository itself. */
async function readBranch (files: WorkspaceFiles): Promise<{ readonly branch?: string }> {
  try {
    const { bytes } = await files.read('.git/HEAD')
    const branch = /^ref: refs\/heads\/(\S+)\s*$/.exec(bytes.toString())?.[1]
    return branch === undefined ? {} : { branch: branch.slice(0, MAX_BRANCH) }
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return {}
  }
}
