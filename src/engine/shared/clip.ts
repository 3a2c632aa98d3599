/** Cuts a text to its beginning, and marks the cut. @param most length to keep, in code points */
export function clip (text: string, most: number): string {
  if (text.length <= most) return text
  const points = Array.from(text)
  return points.length <= most ? text : `${points.slice(0, most).join('')}…[truncated]`
}
