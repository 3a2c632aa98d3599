import { type Position, positionAt, scanTags } from './tags.ts'
import { type Syntax } from './language.ts'
import { parse } from './handlebars/parse.ts'
import { prescan } from './prescan.ts'

/** The first sign of a template language in the texts of a prompt. A sign is a form that only one of the two languages has. */
export interface SyntaxSign extends Position {
  /** The sign as it is written: `{{.name`, `{{#`. */
  readonly form: string
  /** The index of the text in which the sign is, from 0. */
  readonly text: number
}

/** The language in which a prompt is written, or a sign of each language when both occur. */
export type DetectedSyntax = { readonly syntax: Syntax } | { readonly mixed: readonly [go: SyntaxSign, handlebars: SyntaxSign] }

/**
 * Finds out in which language the texts of a prompt are written, by tags that only one of the languages has. Without such a tag, it is Handlebars if
 * every text parses as Handlebars, otherwise Go.
 * @param rest waits when other requests must be served, because parsing takes milliseconds for each text
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

/**
 * The first sign (a form that only one language has) of the other language in a text that should be in the language `syntax`; `undefined` when there is
 * none.
 */
export function findForeignSign (text: string, syntax: Syntax): SyntaxSign | undefined {
  return findSigns(text, 0)[syntax === 'go' ? 'handlebars' : 'go']
}

/** Finds the first form of Go that Handlebars would read with another meaning: `{{range .items}}` would be a path. `undefined` when there is none. */
export function findMisread (text: string): Omit<SyntaxSign, 'text'> | undefined {
  for (const { start, inner } of scanTags(text, 'handlebars')) {
    const form = NAME.test(inner) ? undefined : findForm(inner.replace(BLOCK_PARAMS, ''), GO_FORMS)
    if (form !== undefined) return { form: form.trim(), ...positionAt(text, start) }
  }
  return undefined
}

/** The forms of Go. A form that only counts behind others has them in front of its group, because to look behind from each place would take too long. */
const GO_FORMS: readonly RegExp[] = [
  // A name after a dot is a sign of Go after a space, too, although the Handlebars parser would take `{{len .items}}` for the path `len.items`.
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
  // These are functions that only Go has; no tool can have such a name. Alone in a tag, such a word is a name like any other.
  /(?:^|\()\s*(call|html|js|print|printf|println|slice|urlquery)(?=[\s(]+[^\s(])/,
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
  /(?:^|\()\s*(lookup)(?=[\s(]+[^\s(])/,
  /(?<=^|[\s(])this(?=[\s./)]|$)/
]

/** Matches a path as both languages write it, which is no sign of either. Most tags are such paths. */
const NEUTRAL = /^\s*(?!(?:end|break|continue|println)\s*$|this\b)\w+(?:\.\w+)*\s*$/

/** Matches a possible name in Handlebars, whatever it is in Go: `{{end}}`, `{{$x}}`. */
const NAME = /^\s*[\w$]+\s*$/

/** Matches `else if` and `else with`, which exist in both languages. They are a sign of Go where no block of Handlebars is open. */
const ELSE_CHAIN = /^\s*else\s+(?:if|with)\b/
/** Matches the only place where Handlebars has bars: `{{#each items as |item index|}}`. */
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
    // A backslash before a tag makes it plain text in Handlebars, so the tag is no sign of Handlebars. In Go the backslash is a character like any other.
    if (escaped) continue
    handlebars ??= sign(findForm(inner, HANDLEBARS_FORMS))
    if (/^~?[#^]\s*[^\s}~]/.test(inner)) openBlocks++
    else if (/^~?\/(?!\*)/.test(inner)) openBlocks--
  }
  return { go, handlebars }
}

/** Finds one of the forms in a tag, and gives it as it is written there, with the braces when it stands at the start of the tag. */
function findForm (inner: string, forms: readonly RegExp[]): string | undefined {
  for (const form of forms) {
    const match = form.exec(inner)
    if (match === null) continue
    const [whole, sign = whole] = match
    return match.index + whole.length === sign.length ? `{{${sign.trim()}` : sign
  }
  return undefined
}

function isHandlebars (text: string): boolean {
  return mistakeInHandlebars(text) === undefined
}

/** The error that a text causes when it is parsed as Handlebars; `undefined` for a valid text. */
export function mistakeInHandlebars (text: string): unknown {
  try {
    prescan(text)
    parse(text)
    return undefined
  } catch (error) {
    return error
  }
}
