import { type JsonObject } from '../../base/json.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output, type Style } from '../output.ts'

/** The style of a piece of a rendered prompt, by the kind of its source. A piece of the prompt's own text has no style. */
const STYLES: Readonly<Record<string, Style>> = { variable: 'blue', environ: 'green', tool: 'yellow', default: 'dim' }

/**
 * Prints a rendered prompt so that one sees where each piece comes from: in colours on a terminal, else as a table with a row for each
 * piece.
 */
export async function printExplanation (output: Output, explain: JsonObject): Promise<void> {
  const messages = listOf(explain['messages']).map(objectOf)
  if (output.hasColour) {
    for (const message of messages) await printMessage(output, message, messages.length > 1)
    await output.words('blue: variable, green: shared variable, yellow: tool, dim: default')
  } else {
    await output.rows(['role', 'place', 'origin', 'text'], messages.flatMap(rowsOf))
  }
  for (const { tool, outcome, durationMs } of listOf(explain['calls']).map(objectOf)) {
    await output.words(`${textOf(tool)}: ${textOf(outcome)}, ${String(durationMs)} ms`)
  }
}

function rowsOf ({ role = 'history', spans }: JsonObject): string[][] {
  return listOf(spans).map(objectOf).map(span => [textOf(role), placeOf(span), originOf(span), textOf(span['text'])])
}

async function printMessage (output: Output, { role = 'history', spans }: JsonObject, hasHeading: boolean): Promise<void> {
  if (hasHeading) await output.heading(`[${textOf(role)}]`)
  for (const { text = '', sources } of listOf(spans).map(objectOf)) {
    // A piece of the prompt can have several sources: a piece that a tool has made from a variable gets the style of tools.
    const kinds = listOf(sources).map(source => textOf(objectOf(source)['kind']))
    await output.styledPiece(STYLES[['tool', 'environ', 'variable', 'default'].find(kind => kinds.includes(kind)) ?? ''], textOf(text))
  }
  await output.piece('\n')
}

function placeOf ({ partial, part, line, column }: JsonObject): string {
  return `${part === undefined ? '' : `[${String(part)}]:`}${partial === undefined ? '' : `${textOf(partial)}:`}${String(line)}:${String(column)}`
}

function originOf ({ sources }: JsonObject): string {
  return listOf(sources).map(objectOf).map(({ kind = '', path, tool }) => {
    const name = path === undefined && tool === undefined ? '' : ` ${textOf(path) || textOf(tool)}`
    return `${textOf(kind)}${name}`
  }).join(', ')
}
