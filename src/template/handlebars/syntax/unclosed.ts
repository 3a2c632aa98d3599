import { TemplateSyntaxError } from '../../language.ts'
import { classifyHandlebars } from '../../syntax/prescan.ts'
import { positionAt, scanTags } from '../../syntax/tags.ts'

/** Finds the first tag that does not end, and gives the error for it. The parser stops somewhere after that tag, and cannot say where it begins. */
export function findUnclosedTag (text: string): TemplateSyntaxError | undefined {
  for (const { start, inner } of scanTags(text, 'handlebars')) {
    if (inner.startsWith('!') || inner.startsWith('{{')) continue
    const end = start + 2 + inner.length
    // The scan of a tag stops at a literal that is not closed.
    if (/["'[]/.test(text[end] ?? '')) return new TemplateSyntaxError(`${text[end] as string} is not closed`, positionAt(text, end))
    if (!inner.includes('{{') && text.startsWith('}}', end)) continue
    // The mistake is a single brace in a place that needs two.
    const brace = /^[^{}]*\}/.exec(inner)?.[0]
    if (brace !== undefined) return new TemplateSyntaxError('a tag ends with "}}", not with "}"', positionAt(text, start + 1 + brace.length))
    return new TemplateSyntaxError('the tag has no "}}"', positionAt(text, start))
  }
  return undefined
}

/** Finds the innermost block that is open at the end of a template, and gives the error for it. */
export function findUnclosedBlock (text: string): TemplateSyntaxError | undefined {
  const open: Array<{ readonly start: number, readonly inner: string }> = []
  for (const tag of scanTags(text, 'handlebars')) {
    const step = classifyHandlebars(tag.inner)
    if (step === 'open') open.push(tag)
    if (step === 'close') open.pop()
  }
  const block = open.at(-1)
  if (block === undefined) return undefined
  const name = /^~?[#^][*>]?\s*([^\s(){}|~>]+)/.exec(block.inner)?.[1]
  return new TemplateSyntaxError(name === undefined ? 'the block is not closed' : `"${name}" has no {{/${name}}}`, positionAt(text, block.start))
}

/** Finds a comment or raw block that is not closed, and gives the error for it. */
export function findUnclosedText (text: string): TemplateSyntaxError | undefined {
  const last = Array.from(scanTags(text, 'handlebars')).findLast(({ inner }) => inner.startsWith('!') || inner.startsWith('{{'))
  return last && new TemplateSyntaxError(`the ${last.inner.startsWith('!') ? 'comment' : 'raw block'} is not closed`, positionAt(text, last.start))
}
