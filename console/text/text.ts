import { type texts as author } from './en/author.ts'
import { type texts as frame } from './en/frame.ts'
import { type texts as work } from './en/work.ts'
import { type Same } from './same.ts'

/** The parts of the texts. Each part is loaded together with the screens that show it. */
export type TextPart = 'frame' | 'author' | 'work'

/** The language of the console: the one that the address names (`?lang=ru`), or else the browser's language. */
export const language: 'en' | 'ru' = (new URLSearchParams(location.search).get('lang') ?? navigator.language).startsWith('ru') ? 'ru' : 'en'

const PARTS = {
  en: { frame: () => import('./en/frame.ts'), author: () => import('./en/author.ts'), work: () => import('./en/work.ts') },
  ru: { frame: () => import('./ru/frame.ts'), author: () => import('./ru/author.ts'), work: () => import('./ru/work.ts') }
}

/** The texts that were loaded so far, by their names. */
export const t = {} as Same<typeof frame & typeof author & typeof work>

/** Loads a part of the texts in the language of the console. It is called before any of these texts is shown, and may be called again. */
export async function loadTexts (part: TextPart): Promise<void> {
  Object.assign(t, (await PARTS[language][part]()).texts)
}
