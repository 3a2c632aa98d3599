/** A noun for several: `prompts`, `lists of tests`. */
export function manyOf (noun: string): string {
  return noun.replace(/(?= of )|$/, 's')
}
