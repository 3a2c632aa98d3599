/**
 * The parts of a Langfuse text that are not plain text: variables, references to other prompts, and braces.
 * https://langfuse.com/docs/prompt-management/features/composability
 */
const TAGS = /(?<!\\)(\\*)\{\{(?:\s*([A-Za-z_][\w.]*)\s*\}\})?|@@@langfusePrompt:name=([^|@]+)\|(?:label|version)=([^@|]+)@@@/g

/**
 * Turns a text of Langfuse into a Handlebars template: `{{x}}` reads the variable x, and all other braces stay plain text, as in Langfuse.
 * @param idOf gives the id of a prompt by its name in Langfuse
 */
export function templateFrom (text: string, idOf: (name: string) => string): string {
  return text.replaceAll(TAGS, (_tag, slashes = '', variable?: string, name?: string, release?: string) => {
    if (variable !== undefined) return `${inFront(slashes)}{{variables.${variable}}}`
    if (name !== undefined) return `{{> "${idOf(name)}@${release ?? ''}"}}`
    // The empty comment separates backslashes of the text from the backslash that makes the braces plain text.
    return slashes === '' ? '\\{{' : `${inFront(slashes)}{{!}}\\{{`
  })
}

/**
 * The backslashes to write before a tag so that the text has the same ones after rendering. Handlebars removes one of two or more
 * backslashes; a single backslash would make the tag plain text.
 */
function inFront (slashes: string): string {
  return slashes === '' ? '' : `${slashes}\\`
}
