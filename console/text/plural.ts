/** Makes a function that chooses the form of a word for a number: one and many in English; one, few and many in Russian. */
export function plural (language: string): (count: number, one: string, few: string, many?: string) => string {
  const rules = new Intl.PluralRules(language)
  return (count, one, few, many = few) => {
    const rule = rules.select(count)
    return rule === 'one' ? one : rule === 'few' ? few : many
  }
}

/** The whole number in a text, whatever characters separate its digits. */
export function numberIn (text: string): number {
  return Number(text.replace(/\D/g, ''))
}
