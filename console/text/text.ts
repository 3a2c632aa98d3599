import { keep, local } from '../parts/storage.ts'
import { type texts as author } from './en/author.ts'
import { type texts as frame } from './en/frame.ts'
import { type texts as sessions } from './en/sessions.ts'
import { type texts as signIn } from './en/sign-in.ts'
import { type texts as tabs } from './en/tabs.ts'
import { type texts as usage } from './en/usage.ts'
import { type texts as work } from './en/work.ts'
import { type Same } from './same.ts'

/** The parts of the texts. Each part is loaded together with the screens that show it. */
export type TextPart = 'frame' | 'author' | 'tabs' | 'work' | 'sessions' | 'signIn' | 'usage'

const KEY = 'prompt-shell.language'

/** The language of the console: the one that the address names (`?lang=ru`), or that was chosen on the page, or else the browser's. */
export const language: 'en' | 'ru' = wantedLanguage().startsWith('ru') ? 'ru' : 'en'

function wantedLanguage (): string {
  return new URLSearchParams(location.search).get('lang') ?? local.getItem(KEY) ?? navigator.language
}

/** Stores the choice in this browser, and loads the page again in the language. Drafts are kept. */
export function chooseLanguage (chosen: typeof language): void {
  keep(local, KEY, chosen)
  const address = new URL(location.href)
  address.searchParams.delete('lang')
  if (address.href === location.href) location.reload()
  else location.assign(address)
}

const PARTS = {
  en: {
    frame: () => import('./en/frame.ts'),
    author: () => import('./en/author.ts'),
    tabs: () => import('./en/tabs.ts'),
    work: () => import('./en/work.ts'),
    sessions: () => import('./en/sessions.ts'),
    signIn: () => import('./en/sign-in.ts'),
    usage: () => import('./en/usage.ts')
  },
  ru: {
    frame: () => import('./ru/frame.ts'),
    author: () => import('./ru/author.ts'),
    tabs: () => import('./ru/tabs.ts'),
    work: () => import('./ru/work.ts'),
    sessions: () => import('./ru/sessions.ts'),
    signIn: () => import('./ru/sign-in.ts'),
    usage: () => import('./ru/usage.ts')
  }
}

/** The texts that were loaded so far, by their names. */
export const t = {} as Same<typeof frame & typeof author & typeof tabs & typeof work & typeof sessions & typeof signIn & typeof usage>

/** The words for an error of the service in the language of the console; `undefined` in English, whose words are the service's own. */
export let errorWords: (code: string, details?: Readonly<Record<string, unknown>>) => string | undefined = () => undefined

/** Loads a part of the texts in the language of the console. It is called before any of these texts is shown, and may be called again. */
export async function loadTexts (part: TextPart): Promise<void> {
  const errors = language === 'ru' && part === 'frame' ? import('./errors-ru.ts') : undefined
  Object.assign(t, (await PARTS[language][part]()).texts)
  errorWords = (await errors)?.errorInRussian ?? errorWords
}

/** Loads a part of the console together with the texts that it shows. This happens when the user first opens it. */
export async function withTexts<T> (part: TextPart, code: Promise<T>): Promise<T> {
  const [loaded] = await Promise.all([code, loadTexts(part)])
  return loaded
}
