import { basename } from 'node:path'
import { type JsonObject, stringifyJson, type TextPlace } from '../../base/json.ts'
import { parse } from '../../template/handlebars/syntax/parse.ts'
import { TemplateSyntaxError } from '../../template/language.ts'
import { prescan } from '../../template/syntax/prescan.ts'
import { type StoredValue } from '../store.ts'
import { checkTree } from './check-tree.ts'
import { cutMessages } from './cut-messages.ts'
import { DotpromptError } from './dotprompt-error.ts'
import { readHead, refuseVariant } from './read-head.ts'
import { rewriteHelpers } from './rewrite-helpers.ts'
import { SourceLines } from './source-lines.ts'
import { splitFile } from './split-file.ts'

/** The longest `.prompt` file that is parsed, in UTF-16 units. Its YAML can have up to 128 KiB, its template up to 64 KiB. */
const MAX_LENGTH = 256 * 1024

/** A prompt that was read from a `.prompt` file of Dotprompt. */
export interface Dotprompt {
  /** The prompt in the form in which prompts are stored. */
  readonly prompt: JsonObject
  /** The places in the file at which the prompt's texts begin. */
  readonly starts: ReadonlyArray<{ readonly message: number, readonly part?: number, readonly place: TextPlace }>
}

/**
 * Reads a `.prompt` file of Dotprompt (https://google.github.io/dotprompt/reference/frontmatter/) as a prompt of this service.
 * @param file the file's name
 * @throws DotpromptError
 */
export function readDotprompt (text: string, file: string): Dotprompt {
  if (text.length > MAX_LENGTH) throw new DotpromptError(`is longer than ${MAX_LENGTH / 1024} KiB`, { line: 1, column: 1 })
  const fileLines = new SourceLines(text)
  const { head, headAt, body, bodyAt } = splitFile(text)
  if (basename(file, '.prompt').includes('.')) throw refuseVariant({ line: 1, column: 1 })
  const fields = readHead(head, fileLines.placeAt(headAt))
  if (body.trim() === '') throw new DotpromptError('has no template', fileLines.placeAt(bodyAt))
  const at = (offset: number) => fileLines.placeAt(bodyAt + offset)
  const lines = new SourceLines(body)
  try {
    prescan(body)
    const program = parse(body)
    checkTree(program, lines, at)
    const { text: source, offsetBefore } = rewriteHelpers(body, program, lines)
    const isSame = source === body
    const placeOf = (offset: number) => at(isSame ? offset : offsetBefore(offset))
    const { fields: texts, starts } = cutMessages(source, isSame ? program : parse(source), isSame ? lines : new SourceLines(source), placeOf)
    return {
      prompt: { syntax: 'handlebars', ...fields, ...texts },
      starts: starts.map(({ at: offset, ...start }) => ({ ...start, place: placeOf(offset) }))
    }
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error
    throw new DotpromptError(`is no template: ${error.message}`, at(lines.offsetOf({ line: error.line, column: error.column - 1 })))
  }
}

/** Reads a `.prompt` file of Dotprompt as the JSON text of a prompt, or gives the reason why that is impossible. */
export function dotpromptToJson (text: string, file: string): StoredValue {
  try {
    const { prompt } = readDotprompt(text, file)
    return { kind: 'text', text: stringifyJson(prompt) }
  } catch (error) {
    if (!(error instanceof DotpromptError)) throw error
    const { message: reason, place, hint, code } = error
    return { kind: 'bad', reason, place, ...(hint === undefined ? {} : { hint }), ...(code === undefined ? {} : { code }) }
  }
}
