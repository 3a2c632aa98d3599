/**
 * Puts an indentation before every line of a text that comes in pieces, except before an empty end. The indentation becomes
 * part of the piece in which the line begins.
 */
export function indentTexts (pieces: readonly string[], indent: string): string[] {
  let isLineStart = true
  return pieces.map(piece => {
    if (piece === '') return piece
    const start = isLineStart ? indent : ''
    isLineStart = piece.endsWith('\n')
    return start + piece.replace(/\n(?=[^])/g, `\n${indent}`)
  })
}
