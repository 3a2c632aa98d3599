import { type Run } from '../../run/run.ts'
import { type Render } from './scope.ts'

/** A part of a compiled sequence: a text, or a closure for what is computed. */
export type Part = string | Render

/** Makes the closure that runs parts in order and joins their texts. Entering it costs one visit for each node, however many nodes are reached. */
export function concatenate (parts: readonly Part[], nodes: number): Render {
  // Texts and closures alternate: start renders[0] rest[0] renders[1] rest[1] …
  let start = ''
  const rest: string[] = []
  const renders: Render[] = []
  for (const part of parts) {
    if (typeof part !== 'string') {
      renders.push(part)
      rest.push('')
    } else if (rest.length === 0) start += part
    else rest.push(`${rest.pop()}${part}`)
  }
  return scope => {
    const { run } = scope.rendering
    run.charge(nodes)
    let output = start
    for (let index = 0; index < renders.length; index++) output = checked(output + (renders[index] as Render)(scope) + (rest[index] as string), run)
    return output
  }
}

/** Gives the text, unless it has grown beyond the limit. @throws RENDER_BUDGET */
function checked (text: string, run: Run): string {
  if (text.length > run.limits.output) run.checkOutput(text.length)
  return text
}
