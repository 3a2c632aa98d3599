import { type Position, positionAt, scanTags } from './tags.ts'
import { type Syntax } from './language.ts'
import { parse } from './handlebars/parse.ts'
import { prescan } from './prescan.ts'

export interface SyntaxSign extends Position {
  readonly form: string
  readonly text: number
}

/** By tags that only one has; else Handlebars if every text parses, otherwise Go. `rest` lets other requests in: parsing takes milliseconds. */
export async function detectSyntax (texts: readonly string[], rest: () => Promise<void>): Promise<
  { readonly syntax: Syntax } | { readonly mixed: readonly [go: SyntaxSign, handlebars: SyntaxSign] }
> {
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

export function findForeignSign (text: string, syntax: Syntax): SyntaxSign | undefined {
  return findSigns(text, 0)[syntax === 'go' ? 'handlebars' : 'go']
}

/** `{{range .items}}` would be a path in Handlebars. */
export function findMisread (text: string): Omit<SyntaxSign, 'text'> | undefined {
  for (const { start, inner } of scanTags(text, 'handlebars')) {
    const form = NAME.test(inner) ? undefined : findForm(inner.replace(BLOCK_PARAMS, ''), GO_FORMS)
    if (form !== undefined) return { form: form.trim(), ...positionAt(text, start) }
  }
  return undefined
}

/** The condition before a form is in front of its group: a look-behind from each place would take too long. */
const GO_FORMS: readonly RegExp[] = [
  // After a space, too, although Handlebars would take `{{len .items}}` for the path `len.items`.
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
  // Only Go has these, and no tool can; alone in a tag, such a word is a name like any other.
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

/** In both languages: a sign of Go where no block of Handlebars is open. */
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
    // A backslash makes a tag plain text in Handlebars, but means nothing in Go.
    if (escaped) continue
    handlebars ??= sign(findForm(inner, HANDLEBARS_FORMS))
    if (/^~?[#^]\s*[^\s}~]/.test(inner)) openBlocks++
    else if (/^~?\/(?!\*)/.test(inner)) openBlocks--
  }
  return { go, handlebars }
}

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

export function mistakeInHandlebars (text: string): unknown {
  try {
    prescan(text)
    parse(text)
    return undefined
  } catch (error) {
    return error
  }
}
