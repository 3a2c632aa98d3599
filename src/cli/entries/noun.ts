/** A noun with its article: `a prompt`, `an agent`. */
export function oneOf (noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}
