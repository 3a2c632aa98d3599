/** The letters whose upper case in JavaScript is several characters: `ß`, ligatures, Greek letters with an iota below. */
const LENGTHENED =
  '\\u00df\\u0149\\u01f0\\u0390\\u03b0\\u0587\\u1e96-\\u1e9a\\u1f50\\u1f52\\u1f54\\u1f56\\u1f80-\\u1faf\\u1fb2-\\u1fb4\\u1fb6\\u1fb7\\u1fbc\\u1fc2-\\u1fc4\\u1fc6\\u1fc7\\u1fcc\\u1fd2\\u1fd3\\u1fd6\\u1fd7\\u1fe2-\\u1fe4\\u1fe6\\u1fe7\\u1ff2-\\u1ff4\\u1ff6\\u1ff7\\u1ffc\\ufb00-\\ufb06\\ufb13-\\ufb17'
const HAS_LENGTHENED = new RegExp(`[${LENGTHENED}]`)
const OTHERS = new RegExp(`[^${LENGTHENED}]+`, 'g')

/** Changes a text to upper case letter by letter, as Go's `strings.ToUpper` does. A letter whose upper case would be several characters, such as `ß`, stays. */
export function toUpperLetters (text: string): string {
  if (!HAS_LENGTHENED.test(text)) return text.toUpperCase()
  return text
    .replace(OTHERS, part => part.toUpperCase())
    // Each Greek letter with an iota below has a single upper-case letter in Unicode, whose code is greater by a fixed number.
    .replace(/[\u1f80-\u1f87\u1f90-\u1f97\u1fa0-\u1fa7]/g, letter => later(letter, 8))
    .replace(/[\u1fb3\u1fc3\u1ff3]/g, letter => later(letter, 9))
}

/** Changes a text to lower case letter by letter, as Go's `strings.ToLower` does: `İ` loses its dot, and `Σ` becomes `σ` even at the end of a word. */
export function toLowerLetters (text: string): string {
  return text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase()
}

function later (letter: string, distance: number): string {
  return String.fromCharCode(letter.charCodeAt(0) + distance)
}
