/** Indents every line of a text that comes in pieces, except an empty last one. The indentation is added to the piece in which the line begins. */
export function indentTexts (pieces: readonly string[], indent: string): string[] {
  let isLineStart = true
  return pieces.map(piece => {
    if (piece === '') return piece
    const start = isLineStart ? indent : ''
    isLineStart = piece.endsWith('\n')
    return start + piece.replace(/\n(?=[^])/g, `\n${indent}`)
  })
}
