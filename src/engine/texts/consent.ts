/** The words of consent: a user's message that is one of these, in any language, agrees to what was shown. */
const CONSENT: ReadonlySet<string> = new Set(['ok', 'okay', 'ок', 'yes', 'y', 'да', 'apply', 'go', 'применяй', 'давай', 'lgtm'])

/** Whether a message consents and says nothing else. Punctuation around the word does not count; "yes, but…" is no consent. */
export function isConsent (text: string): boolean {
  const [word, another] = text.toLowerCase().matchAll(/[^\p{P}\p{S}\s]+/gu)
  return another === undefined && CONSENT.has(word?.[0] ?? '')
}
