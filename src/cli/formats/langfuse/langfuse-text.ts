/** A reference from one prompt of Langfuse to another, by a label or a version of it. */
export interface LangfuseReference {
  readonly name: string
  readonly by: 'label' | 'version'
  readonly release: string
}

/**
 * The parts of a Langfuse text that are not plain text: variables, references to other prompts, and braces.
 * https://langfuse.com/docs/prompt-management/features/composability
 */
const TAGS = /(?<!\\)(\\*)\{\{(?:\s*([^{}\s\\#^>!/&=][^{}\s\\]*)\s*\}\}|([^{}]*\}\}))?|@@@langfusePrompt:(.*?)@@@/g

const REFERENCE = /^name=([^|]+)\|(label|version)=([^|]+)$/

/**
 * Turns a text of Langfuse into a Handlebars template: `{{x}}` reads the variable x, and all other braces stay plain text, as in Langfuse.
 * @param refer gives the name of the partial that a reference becomes
 * @param onText called with each tag that stays plain text
 */
export function templateFrom (text: string, refer: (reference: LangfuseReference) => string, onText: (tag: string) => void = () => undefined): string {
  return text.replaceAll(TAGS, (tag: string, slashes = '', variable: string | undefined, rest = '', wanted: string | undefined, at: number) => {
    if (variable !== undefined) return `${inFront(slashes)}{{variables.${pathOf(variable)}}}`
    if (wanted !== undefined) {
      const [, name, by, release] = REFERENCE.exec(wanted) ?? []
      if (name === undefined || release === undefined) {
        onText(tag)
        return tag
      }
      // Handlebars drops the line end behind a partial that is alone on its line, and indents what the partial prints; not beside a comment.
      return `{{> "${refer({ name, by: by as 'label' | 'version', release })}"}}${isAlone(text, at, tag) ? '{{!}}' : ''}`
    }
    if (rest !== '') onText(tag.slice(slashes.length))
    // The empty comment separates backslashes of the text from the backslash that makes the braces plain text.
    return `${slashes === '' ? '' : `${inFront(slashes)}{{!}}`}\\{{${rest}`
  })
}

/**
 * The backslashes to write before a tag so that the text has the same ones after rendering. Handlebars removes one of two or more
 * backslashes; a single backslash would make the tag plain text.
 */
function inFront (slashes: string): string {
  return slashes === '' ? '' : `${slashes}\\`
}

/** The path of a variable behind `variables.`; a name that Handlebars would read otherwise stands in brackets. */
function pathOf (variable: string): string {
  const segments = variable.split('.')
  return (segments.includes('') ? [variable] : segments).map(segment => {
    const isPlain = /^[A-Za-z_]\w*$/.test(segment) && !/^(?:this|true|false|null|undefined|as)$/.test(segment)
    return isPlain ? segment : `[${segment.replaceAll(']', '\\]')}]`
  }).join('.')
}

function isAlone (text: string, at: number, tag: string): boolean {
  const from = text.slice(0, at).lastIndexOf('\n') + 1
  const [rest = ''] = text.slice(at + tag.length).split('\n', 1)
  return `${text.slice(from, at)}${rest}`.trim() === ''
}
