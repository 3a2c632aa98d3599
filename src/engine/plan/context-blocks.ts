import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { applyDiet, type Diet, type DietBlock } from './diet.ts'
import { type PlanLimits } from './plan-setting.ts'

/** The model is told why a text could not be read. This is the length to which that reason is cut, in UTF-16 units. */
const MAX_REASON = 300

/** The beginning of the mark that a text has in place of a part that the service has cut out. */
const CUT = '\n...[TRUNCATED '

/** A block of context: one file, search result or other text that the model reads before it answers. */
export interface ContextBlock extends DietBlock {
  readonly section: 'AUTO_CONTEXT' | 'AUTO_CONTEXT_FROM_MESSAGE' | 'FULFILLED_CONTEXT'
  /** The file that the block shows, and its hash on disk: an update has to start from that content. */
  readonly base?: { readonly path: string, readonly sha256: string }
  /** Whether the file was read in full. */
  readonly isWhole?: boolean
}

/** The sections of the context that the model reads, in their order: texts that the service read by itself, then those that the model asked for. */
export const SECTIONS = ['AUTO_CONTEXT', 'AUTO_CONTEXT_FROM_MESSAGE', 'FULFILLED_CONTEXT'] as const

/** The header of a block that the service read by itself; `undefined` for a block that the model asked for. */
export type AutoHeader = 'AUTO_TRACEBACK' | 'DEPS' | 'ENV' | undefined

/**
 * Turns one block that the workspace returned into a block of context for the model; `undefined` for an unknown form. It is `undefined` too
 * for a block that is missing and that the model did not ask for.
 */
export function contextBlockOf (block: Json, auto: AutoHeader): ContextBlock | undefined {
  if (!isJsonObject(block)) return undefined
  const section = auto === undefined ? 'FULFILLED_CONTEXT' : auto === 'AUTO_TRACEBACK' ? 'AUTO_CONTEXT_FROM_MESSAGE' : 'AUTO_CONTEXT'
  switch (block['type']) {
    case 'file': return fileBlock(block, auto, section)
    case 'search': return { kind: 'search', section, head: `SEARCH[${textIn(block, 'query')}]:\n`, body: hitsIn(block) }
    case 'logs': return { kind: 'logs', section, head: `LOGS[${textIn(block, 'source')}]:\n`, body: textIn(block, 'text') }
    case 'env': return { kind: 'env', section, head: 'ENV:\n', body: textIn(block, 'text') }
    case 'list': return { kind: 'search', section, head: `LIST[${textIn(block, 'path')}]:\n`, body: textIn(block, 'text') }
    case 'missing':
      // Blocks that the service looked for by itself are left out when they are missing.
      if (auto !== undefined) return undefined
      return { kind: 'env', section, head: `MISSING[${nameOf(block['request'])}]: `, body: textIn(block, 'reason').slice(0, MAX_REASON) }
    default: return undefined
  }
}

/** Writes the blocks as the text that the model reads, cut to the limits of the context. The names of the sections count towards the limit too. */
export function writeContext (blocks: readonly ContextBlock[], limits: PlanLimits): { readonly text: string, readonly diet: Diet<ContextBlock> } {
  const names = SECTIONS.filter(name => blocks.some(({ section }) => section === name)).reduce((sum, name) => sum + name.length + 4, 0)
  const diet = applyDiet(blocks, { ...limits, context_max_total_chars: Math.max(0, limits.context_max_total_chars - names) })
  return { text: render(diet.blocks), diet }
}

/** For each file in the blocks, the hash of its content on disk, by path. */
export function basesIn (blocks: readonly ContextBlock[]): Record<string, string> {
  return Object.fromEntries(blocks.flatMap(({ base }) => base === undefined ? [] : [[base.path, base.sha256]]))
}

/**
 * The paths of the files that the model has been shown in full. When the model is later shown only a part of a file, the path of that file is removed.
 * @param known the files that were shown in full before
 * @param blocks as they were read
 * @param shown the same blocks after they were cut
 */
export function wholeIn (known: readonly string[], blocks: readonly ContextBlock[], shown: readonly ContextBlock[]): string[] {
  const isUncut = ({ head, body, isWhole }: ContextBlock): boolean => isWhole === true && blocks.some(each => each.head === head && each.body === body)
  const paths = (given: readonly ContextBlock[]): string[] => given.flatMap(({ base }) => base === undefined ? [] : [base.path])
  const uncut = paths(shown.filter(isUncut))
  const cut = paths(shown).filter(path => !uncut.includes(path))
  return [...new Set([...known.filter(path => !cut.includes(path)), ...uncut])]
}

function render (blocks: readonly ContextBlock[]): string {
  const sections = SECTIONS.map(section => ({ section, own: blocks.filter(block => block.section === section) })).filter(({ own }) => own.length > 0)
  return sections.map(({ section, own }) => `${section}:\n${own.map(({ head, body }) => head + body).join('\n')}`).join('\n\n')
}

function fileBlock (block: JsonObject, auto: AutoHeader, section: ContextBlock['section']): ContextBlock {
  const path = textIn(block, 'path')
  const head = `${auto ?? 'FILE'}[${path}]:\n`
  const base = { path, sha256: textIn(block, 'sha256') }
  const isWhole = block['startLine'] === 1 && block['endLine'] === block['totalLines'] && !textIn(block, 'text').includes(CUT)
  if (auto === 'DEPS') return { kind: 'found', section, head, body: textIn(block, 'text'), base, isWhole }
  const form = textIn(block, 'form')
  const body = `${form === '' ? '' : `(${form})\n`}${numbered(block)}`
  return { kind: auto === undefined ? 'file' : 'found', section, head, body, base, isWhole }
}

/** The lines of a file with their numbers, as `n|line`; blank ones at its end too. */
function numbered (block: JsonObject): string {
  const { startLine, endLine } = block
  const start = typeof startLine === 'number' && startLine > 0 ? startLine : 1
  // A range without a line has the same text as a range of one blank line.
  if (typeof endLine === 'number' && endLine < start) return ''
  return textIn(block, 'text').split('\n').map((line, index) => `${start + index}|${line.endsWith('\r') ? line.slice(0, -1) : line}`).join('\n')
}

function hitsIn ({ hits, truncated }: JsonObject): string {
  const found = Array.isArray(hits) ? (hits as readonly Json[]).filter(isJsonObject) : []
  const lines = found.map(hit => `${textIn(hit, 'path')}:${typeof hit['line'] === 'number' ? hit['line'] : 0}|${textIn(hit, 'text')}`)
  return [...lines.length === 0 ? ['(nothing found)'] : lines, ...truncated === true ? ['(there is more)'] : []].join('\n')
}

function nameOf (request: Json | undefined): string {
  if (!isJsonObject(request)) return ''
  return ['path', 'query', 'source', 'type'].map(name => textIn(request, name)).find(text => text !== '') ?? ''
}

function textIn (block: JsonObject, name: string): string {
  const value = Object.hasOwn(block, name) ? block[name] : undefined
  return typeof value === 'string' ? value : ''
}
