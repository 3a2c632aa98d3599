import { hasAtMost } from '../base/text.ts'
import { TemplateSyntaxError } from './language.ts'
import { positionAt, scanTags, type Tag } from './tags.ts'

const MAX_SOURCE_BYTES = 64 * 1024
const MAX_TAGS = 2000
/** Parsers take microseconds for each word or sign, hence a bound. */
const MAX_WORDS = 10_000
/** Of blocks (each `else if` counts, since parsers nest it), of parentheses in a tag, and of signs `|` in a tag. */
const MAX_NESTING = 100

/** Refuses what would keep a parser busy or overflow its stack, by the rules of both languages. @throws TemplateSyntaxError with its place */
export function prescan (text: string): void {
  // n UTF-16 units have at least n bytes, so a huge text need not be measured.
  const bytes = text.length > MAX_SOURCE_BYTES ? text.length : Buffer.byteLength(text)
  if (bytes > MAX_SOURCE_BYTES) throw new TemplateSyntaxError(`the template is longer than ${MAX_SOURCE_BYTES / 1024} KiB`, { line: 1, column: 1 })
  if (isModest(text)) return
  measure(text, 'handlebars', classifyHandlebars)
  // `{{range.start}}` opens a block in Go, but is a path in Handlebars, as it must be without an `{{end}}`.
  const hasEnd = /\{\{(?:-\s)?\s*end\b/.test(text)
  measure(text, 'go', inner => classifyGo(inner, hasEnd))
}

/** Takes less time than counting. */
function isModest (text: string): boolean {
  return text.length <= MAX_WORDS && ['{{', '(', '|'].every(sign => hasAtMost(text, sign, MAX_NESTING))
}

/** `chain`: an `else if`, which nests one level deeper in the same block. */
type NestingStep = 'open' | 'chain' | 'close' | undefined

function measure (text: string, rules: 'go' | 'handlebars', classify: (inner: string) => NestingStep): void {
  const nesting = new Nesting()
  // A shorter text cannot have so many words.
  const countsWords = text.length > MAX_WORDS
  let words = 0
  let tags = 0
  for (const tag of scanTags(text, rules)) {
    if (++tags > MAX_TAGS) throw refuse(text, tag, `the template has more than ${MAX_TAGS} tags`)
    if (countsWords) words += countWords(tag.inner)
    if (words > MAX_WORDS) throw refuse(text, tag, `the tags have more than ${MAX_WORDS} words and signs`)
    if (hasDeepParentheses(tag.inner)) throw refuse(text, tag, `parentheses nest deeper than ${MAX_NESTING} levels`)
    if (isLongPipeline(tag.inner)) throw refuse(text, tag, `pipelines have more than ${MAX_NESTING} steps`)
    nesting.take(classify(tag.inner))
    if (nesting.depth > MAX_NESTING) throw refuse(text, tag, `blocks nest deeper than ${MAX_NESTING} levels`)
  }
}

function refuse (text: string, tag: Tag, reason: string): TemplateSyntaxError {
  return new TemplateSyntaxError(reason, positionAt(text, tag.start))
}

class Nesting {
  depth = 0
  readonly #levels: number[] = []

  take (step: NestingStep): void {
    if (step === 'open') {
      this.#levels.push(1)
      this.depth++
    } else if (step === 'chain' && this.#levels.length > 0) {
      this.#levels.push((this.#levels.pop() as number) + 1)
      this.depth++
    } else if (step === 'close') this.depth -= this.#levels.pop() ?? 0
  }
}

export function classifyHandlebars (inner: string): NestingStep {
  // A raw block's body is skipped, so nothing can nest in it.
  if (inner.startsWith('{{')) return undefined
  if (/^~?(?:#|\^(?!\s*~?$))/.test(inner)) return 'open'
  if (/^~?\//.test(inner)) return 'close'
  return /^~?\s*else\b(?!\s*~?$)/.test(inner) ? 'chain' : undefined
}

function classifyGo (inner: string, hasEnd: boolean): NestingStep {
  const words = inner.replace(/^-(?=\s)/, '').replace(/\s-$/, '').trim()
  if (words === 'end') return 'close'
  if (/^else\s+(?:if|with)\b/.test(words)) return 'chain'
  if (/^(?:(?:if|range|with)[\s($]|(?:define|block)\s*["`])/.test(words)) return 'open'
  return hasEnd && /^(?:if|range|with)\./.test(words) ? 'open' : undefined
}

function countWords (inner: string): number {
  return inner.match(/[\w$]+|[^\w\s$]/g)?.length ?? 0
}

function isLongPipeline (inner: string): boolean {
  return !hasAtMost(inner, '|', MAX_NESTING)
}

function hasDeepParentheses (inner: string): boolean {
  let depth = 0
  for (let index = inner.indexOf('('); index >= 0 && index < inner.length; index++) {
    const code = inner.charCodeAt(index)
    if (code === 0x28 && ++depth > MAX_NESTING) return true
    if (code === 0x29) depth--
  }
  return false
}
