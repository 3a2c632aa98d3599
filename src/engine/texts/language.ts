/** The languages that the service's own texts exist in. */
export const LANGUAGES = ['en', 'ru'] as const

export type Language = typeof LANGUAGES[number]
