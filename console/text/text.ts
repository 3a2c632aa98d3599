import { type texts as author } from './en/author.ts'
import { type texts as frame } from './en/frame.ts'
import { type texts as work } from './en/work.ts'
import { type Same } from './same.ts'

/** All texts of the console, in one language. */
export type Texts = Same<typeof frame & typeof author & typeof work>

/** The parts of the texts; each is loaded with the screens that say it. */
export type TextPart = 'frame' | 'author' | 'work'

/** The language that is spoken: the address's (`?lang=ru`), else the browser's. */
export const language: 'en' | 'ru' = (new URLSearchParams(location.search).get('lang') ?? navigator.language).startsWith('ru') ? 'ru' : 'en'

const PARTS = {
  en: { frame: () => import('./en/frame.ts'), author: () => import('./en/author.ts'), work: () => import('./en/work.ts') },
  ru: { frame: () => import('./ru/frame.ts'), author: () => import('./ru/author.ts'), work: () => import('./ru/work.ts') }
}

/** The texts, as far as they were loaded. */
export const t = {} as Texts

/** Loads a part of the texts in the language that is spoken, before anything of it is shown; once, however often it is asked for. */
export async function loadTexts (part: TextPart): Promise<void> {
  Object.assign(t, (await PARTS[language][part]()).texts)
}
