/** A variable of Langfuse, or a reference to another prompt. https://langfuse.com/docs/prompt-management/features/composability */
const TAGS = /(\\*)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}|@@@langfusePrompt:name=([^|@]+)\|(label|version)=([^@|]+)@@@|(\\*)\{\{/g

/**
 * A text of Langfuse as a template in Handlebars: `{{x}}` reads the variable x, and any other braces stay text, as they do there.
 * @param idOf the id of the prompt of a name
 */
export function templateFrom (text: string, idOf: (name: string) => string): string {
  return text.replaceAll(TAGS, (_tag, slashes = '', variable?: string, name?: string, _by?: string, release?: string, before = '') => {
    if (variable !== undefined) return `${inFront(slashes)}{{variables.${variable}}}`
    if (name !== undefined) return `{{> "${idOf(name)}@${release ?? ''}"}}`
    // The empty comment parts the backslashes of the text from that which makes text of the braces.
    return before === '' ? '\\{{' : `${inFront(before)}{{!}}\\{{`
  })
}

/** Backslashes before a tag: Handlebars takes one away where there are two or more, and the tag for text where there is one. */
function inFront (slashes: string): string {
  return slashes === '' ? '' : `${slashes}\\`
}
