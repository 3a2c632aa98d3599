/** A haiku with its counts, or why there is none. */
export type Written =
  | { readonly haiku_text: string, readonly syllables_per_line: readonly number[], readonly total_words: number }
  | { readonly error: string }

/** What the example knows; a real service would ask a model. */
const HAIKU = [
  ['Осенний вечер', 'На голой ветке сидит', 'Ворон одинок'],
  ['Первый снег летит', 'Над крышами и рекой', 'Город тихо спит'],
  ['Тёплый летний дождь', 'Стучит в окно до утра', 'Пахнет резедой']
] as const

/** Gives a haiku, the same for the same theme. A theme that names an error gets one. */
export function writeHaiku (theme: string): Written {
  if (/ошибка/i.test(theme)) return { error: 'муза молчит' }
  const lines = HAIKU[Array.from(theme).length % HAIKU.length] ?? HAIKU[0]
  const text = lines.join('\n')
  return { haiku_text: text, syllables_per_line: lines.map(countSyllables), total_words: text.split(/\s+/).length }
}

/** A Russian syllable has one vowel. */
function countSyllables (line: string): number {
  return line.match(/[аеёиоуыэюя]/gi)?.length ?? 0
}
