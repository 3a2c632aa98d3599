/** The form of a word that goes with a number: one and many in English; one, few and many in Russian. */
export function plural (language: string): (count: number, one: string, few: string, many?: string) => string {
  const rules = new Intl.PluralRules(language)
  return (count, one, few, many = few) => {
    const rule = rules.select(count)
    return rule === 'one' ? one : rule === 'few' ? few : many
  }
}

/** The whole number that a text shows, whatever stands between its digits. */
export function numberIn (text: string): number {
  return Number(text.replace(/\D/g, ''))
}
