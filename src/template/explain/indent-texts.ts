/**
 * Puts an indentation before every line of a text that comes in pieces, except before an empty end. It becomes part of
 * the piece that the line begins with.
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
