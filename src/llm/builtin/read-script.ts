import { readFileSync, statSync } from 'node:fs'
import { isNode, LineCounter, parseDocument, type Document } from 'yaml'
import { describeViolations, type Violation } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { compileSchema } from '../../tool/schema/schema.ts'
import { type ReplyRule } from './reply-script.ts'

/** Larger files are refused, in bytes. */
const MAX_BYTES = 1024 * 1024

/** A script that cannot be used; the message says where, and what was expected. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError'
}

/**
 * Reads the rules of `builtin:script` from a file of YAML or JSON, at most 1 MiB and 1000 rules.
 * @throws ScriptError, or what the file system throws
 */
export function readScript (path: string): ReplyRule[] {
  const { size } = statSync(path)
  if (size > MAX_BYTES) throw new ScriptError(`${path}: expected at most ${MAX_BYTES} bytes, got ${size}`)
  try {
    return parseScript(readFileSync(path, 'utf8'))
  } catch (error) {
    throw error instanceof ScriptError ? new ScriptError(`${path}: ${error.message}`) : error
  }
}

/** Reads the rules from a text. @throws ScriptError that names lines */
export function parseScript (text: string): ReplyRule[] {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [problem] = document.errors
  if (problem !== undefined) throw new ScriptError(`line ${lines.linePos(problem.pos[0]).line}: expected YAML, ${problem.message.split('\n', 1)[0]?.replace(/ at line .*$/, '') ?? ''}`)
  const rules = plainOf(document)
  // What an if/then refuses is reported by itself; the wrapper's own line says nothing more.
  const violations = compileSchema(readPublishedSchema<Json>('replies')).validate(rules, 'rules').filter(({ message }) => message !== 'must match "then" schema')
  if (violations.length > 0) throw new ScriptError(violations.map(violation => `line ${lineOf(violation, document, lines)}: ${describeViolations([violation])}`).join('; '))
  return rules as unknown as ReplyRule[]
}

/** Aliases are followed within the library's bound. */
function plainOf (document: Document.Parsed): Json {
  try {
    return document.toJS() as Json
  } catch (error) {
    throw new ScriptError(`expected YAML, ${(error as Error).message}`)
  }
}

/** The line of the innermost node on the way to a violation: what is missing has none itself. */
function lineOf ({ path }: Violation, document: Document.Parsed, lines: LineCounter): number {
  let segments = Array.from(path.matchAll(/\[(\d+)\]|\.([^.[]+)/g), ([, index, name]) => index === undefined ? name : Number(index))
  while (segments.length > 0) {
    const node = document.getIn(segments, true)
    if (isNode(node) && node.range != null) return lines.linePos(node.range[0]).line
    segments = segments.slice(0, -1)
  }
  return 1
}
