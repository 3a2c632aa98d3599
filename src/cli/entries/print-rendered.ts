import { type Json } from '../../base/json.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'

/** Prints a rendered prompt: a text as it is, messages below the names of their roles. */
export async function printRendered (output: Output, rendered: Json): Promise<void> {
  if (typeof rendered === 'string') return await output.text(rendered)
  for (const { role, content } of listOf(rendered).map(objectOf)) {
    await output.heading(`[${textOf(role)}]`)
    await output.text(textOf(content))
  }
}
