import { type en } from './en.ts'

/** All texts of the console, in one language. */
export type Texts = { readonly [Key in keyof typeof en]: (typeof en)[Key] extends string ? string : (typeof en)[Key] }

/** The language that is spoken: the address's (`?lang=ru`), else the browser's. */
export const language: 'en' | 'ru' = (new URLSearchParams(location.search).get('lang') ?? navigator.language).startsWith('ru') ? 'ru' : 'en'

/** The texts, from `loadTexts` on. */
export let t: Texts

/** Takes the texts of the language that is spoken, and no other; called once, before anything is shown. */
export async function loadTexts (): Promise<void> {
  document.documentElement.lang = language
  t = language === 'ru' ? (await import('./ru.ts')).ru : (await import('./en.ts')).en
}
