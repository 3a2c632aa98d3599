import { type Json, type JsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'

/** The most characters that are printed of the address or the data of a picture or file in a prompt. */
const MAX_SHOWN = 200

/** Prints a rendered prompt: a text as it is, messages below the names of their roles. */
export async function printRendered (output: Output, rendered: Json): Promise<void> {
  if (typeof rendered === 'string') return await output.text(rendered)
  for (const { role, content } of listOf(rendered).map(objectOf)) {
    await output.heading(`[${textOf(role)}]`)
    await output.text(typeof content === 'string' ? content : listOf(content).map(objectOf).map(partInWords).join('\n'))
  }
}

/**
 * One part of a message in words: the text of a text part; for a picture, sound or file its type, its name, and the beginning of its
 * address or data.
 */
function partInWords (part: JsonObject): string {
  if (part['type'] === 'text') return textOf(part['text'])
  const { type = '' } = part
  const { url, data, file_data: fileData, file_id: id, filename } = objectOf(part[textOf(type)])
  return `[${textOf(type)}${filename === undefined ? '' : ` ${textOf(filename)}`}] ${beginningOf(textOf(url ?? data ?? fileData ?? id), MAX_SHOWN)}`
}
