/** A noun with its article: `a prompt`, `an agent`. */
export function oneOf (noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

/** A noun for several: `prompts`, `lists of tests`. */
export function manyOf (noun: string): string {
  return noun.replace(/(?= of )|$/, 's')
}
