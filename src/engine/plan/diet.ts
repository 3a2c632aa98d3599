import { cutMiddle } from '../shared/cut-middle.ts'
import { type PlanLimits } from './plan-setting.ts'

/** The kinds of blocks in the context that a plan's model reads. In a context that is too long `search` is cut first, `file` (the model asked for it) last. */
const ORDER = ['file', 'found', 'env', 'logs', 'search'] as const

/** A block of context (a file or another text that the model reads). Its head is never cut; its body is cut where the context is too long. */
export interface DietBlock {
  /** `found`: a file that the service has added without a request of the model. */
  readonly kind: typeof ORDER[number]
  readonly head: string
  readonly body: string
}

/** A context after it was cut to its limits. */
export interface Diet<B extends DietBlock> {
  /** The blocks after they were shortened, each with what is left of its body, in the order of the input. */
  readonly blocks: readonly B[]
  readonly dropped: number
  readonly truncated: number
  /** The length of all blocks together, with a line end between two blocks, in UTF-16 units. */
  readonly totalChars: number
  readonly logsChars: number
}

/**
 * The shortest body to which a file that the model asked for is cut, in UTF-16 units. The file keeps so much even when the whole context
 * becomes longer than its limit.
 */
export const LEAST_OF_A_FILE = 4096

/** The length of the longest mark that `cutMiddle` leaves in place of a cut: one with a number of ten digits. */
export const MARK = '\n...[TRUNCATED 0123456789 chars]...\n'.length

/** The shortest body to which a block that is no `file` is cut, in UTF-16 units. A block that would become shorter is left out. */
const LEAST_OF_A_BLOCK = 200

/**
 * Cuts the context of a plan to the plan's limits: the length of each block, the number of blocks, and the length of all blocks together.
 * Only files that the model asked for can make all blocks together longer than their limit, since each of these files keeps
 * `LEAST_OF_A_FILE`.
 */
export function applyDiet<B extends DietBlock> (blocks: readonly B[], limits: PlanLimits): Diet<B> {
  const { context_max_files: mostBlocks, context_max_total_chars: mostChars } = limits
  // Node sorts stably: of equal kinds, the first stays first.
  const byWorth = blocks.map((block, index) => ({ block, index })).toSorted((one, other) => ORDER.indexOf(one.block.kind) - ORDER.indexOf(other.block.kind))
  const kept = new Map<number, B>()
  let total = 0
  for (const { block, index } of byWorth.slice(0, mostBlocks)) {
    const own = { ...block, body: cutTo(block.body, mostOf(block, limits)) }
    const room = mostChars - total - (kept.size === 0 ? 0 : 1) - block.head.length
    const body = fitInto(own, room)
    if (body === undefined) continue
    total += (kept.size === 0 ? 0 : 1) + block.head.length + body.length
    kept.set(index, { ...block, body })
  }
  const left = blocks.flatMap((_, index) => kept.get(index) ?? [])
  return {
    blocks: left,
    dropped: blocks.length - left.length,
    truncated: [...kept].filter(([index, { body }]) => body !== blocks[index]?.body).length,
    totalChars: total,
    logsChars: left.reduce((sum, { kind, body }) => kind === 'logs' ? sum + body.length : sum, 0)
  }
}

/**
 * Cuts the body of a block to the room that is left in the context; `undefined` when the block has to be left out. A file that the model
 * asked for is never left out here.
 */
function fitInto ({ kind, body }: DietBlock, room: number): string | undefined {
  if (body.length <= room) return body
  const least = kind === 'file' ? LEAST_OF_A_FILE : LEAST_OF_A_BLOCK
  if (kind === 'file') return cutTo(body, Math.max(room, least + MARK))
  return room < least + MARK ? undefined : cutTo(body, room)
}

/** A text, cut in its middle where it is too long. @param most the length with the mark of the cut, in UTF-16 units */
function cutTo (text: string, most: number): string {
  return text.length <= most ? text : cutMiddle(text, Math.max(0, most - MARK))
}

function mostOf ({ kind }: DietBlock, { context_max_file_chars: file, context_max_log_chars: logs }: PlanLimits): number {
  return (kind === 'logs' ? logs : file) + MARK
}
