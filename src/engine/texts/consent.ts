/** Words that agree with what was shown, in any language, as the whole message. */
const CONSENT: ReadonlySet<string> = new Set(['ok', 'okay', 'ок', 'yes', 'y', 'да', 'apply', 'go', 'применяй', 'давай', 'lgtm'])

/** Whether a message does no more than agree. Marks and signs around the word do not count; "yes, but…" is no consent. */
export function isConsent (text: string): boolean {
  return CONSENT.has(text.trim().toLowerCase().replace(/^[\p{P}\p{S}\s]+|[\p{P}\p{S}\s]+$/gu, ''))
}
