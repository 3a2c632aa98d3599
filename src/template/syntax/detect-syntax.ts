import { type Position } from '../position.ts'
import { type Syntax } from '../language.ts'
import { parse } from '../handlebars/syntax/parse.ts'
import { prescan } from './prescan.ts'
import { positionAt, scanTags } from './tags.ts'

/** The first sign of a language in a prompt's texts. */
export interface SyntaxSign extends Position {
  /** As written: `{{.name`, `{{#`. */
  readonly form: string
  /** Which of the texts it is in, from 0. */
  readonly text: number
}

/** What a prompt is written in, or a sign of each language when both occur. */
export type DetectedSyntax = { readonly syntax: Syntax } | { readonly mixed: readonly [go: SyntaxSign, handlebars: SyntaxSign] }

/**
 * Tells which language the texts of one prompt are written in, by the tags that only one of the languages has. Without such a
 * tag, it is Handlebars if every text parses as such, else Go.
 * @param rest lets other work go on where that is due: parsing takes milliseconds a text
 */
export async function detectSyntax (texts: readonly string[], rest: () => Promise<void>): Promise<DetectedSyntax> {
  let go: SyntaxSign | undefined
  let handlebars: SyntaxSign | undefined
  for (const [index, text] of texts.entries()) {
    const signs = findSigns(text, index)
    go ??= signs.go
    handlebars ??= signs.handlebars
    await rest()
  }
  if (go !== undefined && handlebars !== undefined) return { mixed: [go, handlebars] }
  if (go !== undefined) return { syntax: 'go' }
  if (handlebars !== undefined) return { syntax: 'handlebars' }
  for (const text of texts) {
    if (!isHandlebars(text)) return { syntax: 'go' }
    await rest()
  }
  return { syntax: 'handlebars' }
}

/** The first sign of the other language in a text that is said to be in one of them. */
export function findForeignSign (text: string, syntax: Syntax): SyntaxSign | undefined {
  return findSigns(text, 0)[syntax === 'go' ? 'handlebars' : 'go']
}

/** The first form of Go in a text that may parse as Handlebars and means something else there: `{{range .items}}` is a path. */
export function findMisread (text: string): Omit<SyntaxSign, 'text'> | undefined {
  for (const { start, inner } of scanTags(text, 'handlebars')) {
    const form = NAME.test(inner) ? undefined : findForm(inner.replace(BLOCK_PARAMS, ''), GO_FORMS)
    if (form !== undefined) return { form: form.trim(), ...positionAt(text, start) }
  }
  return undefined
}

const GO_FORMS: readonly RegExp[] = [
  // After a space, too: `{{len .items}}`, which the Handlebars parser would take for the path `len.items`.
  /(?<=^|[\s(])\.[A-Za-z_]\w*/,
  /^\s*\$/,
  /^-(?=\s)/,
  /(?<=\s)-$/,
  /^\s*(?:end|break|continue)\s*$/,
  /^\s*(?:if|range|with)(?=[\s($]+\S)/,
  /^\s*(?:define|template|block)(?=\s*["`])/,
  /\|/,
  /:=/,
  /\)\.[A-Za-z_]\w*/,
  /^\/\*/,
  // Functions that only Go has. No tool can have such a name. Alone in a tag, such a word is a name like any other.
  /(?<=^\s*|\(\s*)(?:call|html|js|print|printf|println|slice|urlquery)(?=[\s(]+[^\s(])/,
  /^\s*println\s*$/
]

const HANDLEBARS_FORMS: readonly RegExp[] = [
  /^[#^>&{!~]/,
  /^\/(?!\*)/,
  /~$/,
  /\.\.\//,
  /@[A-Za-z_]\w*/,
  /(?<=[\s(])[A-Za-z_][\w-]*\s*=(?!=)/,
  /\bas\s+\|/,
  /(?<=^\s*|\(\s*)lookup(?=[\s(]+[^\s(])/,
  /(?<=^|[\s(])this(?=[\s./)]|$)/
]

/** A path as both languages may have it, which most tags are, and no sign of either. */
const NEUTRAL = /^\s*(?!(?:end|break|continue|println)\s*$|this\b)\w+(?:\.\w+)*\s*$/

/** What may be a name in Handlebars, whatever it is in Go: `{{end}}`, `{{$x}}`. */
const NAME = /^\s*[\w$]+\s*$/

/** `else if` and `else with` exist in both languages: they are Go's where no block of Handlebars is open. */
const ELSE_CHAIN = /^\s*else\s+(?:if|with)\b/
/** The only bars of Handlebars, as in `{{#each items as |item index|}}`. */
const BLOCK_PARAMS = /\bas\s+\|[^|]*\|/

function findSigns (text: string, index: number): { go: SyntaxSign | undefined, handlebars: SyntaxSign | undefined } {
  let go: SyntaxSign | undefined
  let handlebars: SyntaxSign | undefined
  let openBlocks = 0
  for (const { start, inner, escaped } of scanTags(text, 'either')) {
    if (NEUTRAL.test(inner)) continue
    const sign = (form: string | undefined): SyntaxSign | undefined =>
      form === undefined ? undefined : { form: form.trim(), text: index, ...positionAt(text, start) }
    go ??= sign(findForm(inner.replace(BLOCK_PARAMS, ''), openBlocks > 0 ? GO_FORMS : [ELSE_CHAIN, ...GO_FORMS]))
    // A backslash makes a tag text in Handlebars, so that it is no sign of it; in Go it is a character like any other.
    if (escaped) continue
    handlebars ??= sign(findForm(inner, HANDLEBARS_FORMS))
    if (/^~?[#^]\s*[^\s}~]/.test(inner)) openBlocks++
    else if (/^~?\/(?!\*)/.test(inner)) openBlocks--
  }
  return { go, handlebars }
}

/** The form as written: the braces before what stands at the start of a tag. */
function findForm (inner: string, forms: readonly RegExp[]): string | undefined {
  for (const form of forms) {
    const match = form.exec(inner)
    if (match !== null) return match.index === 0 ? `{{${match[0].trim()}` : match[0]
  }
  return undefined
}

function isHandlebars (text: string): boolean {
  return mistakeInHandlebars(text) === undefined
}

/** What keeps a text from being Handlebars, as far as its form goes. */
export function mistakeInHandlebars (text: string): unknown {
  try {
    prescan(text)
    parse(text)
    return undefined
  } catch (error) {
    return error
  }
}
