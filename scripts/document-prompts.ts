import { readFileSync } from 'node:fs'

/** What this page reads of a JSON Schema. */
interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly maxLength?: number
}

/** The page tells of these by what they are, in a list of its own. */
const PARTS = 'messages[].content'

/** The list of a prompt's fields, in Markdown, from `jsonschema/prompt.json`. */
export function documentPromptFields (): string {
  const { $defs: definitions } = JSON.parse(readFileSync('jsonschema/prompt.json', 'utf8')) as { $defs: Record<string, Schema> }
  const resolve = (schema: Schema): Schema => schema.$ref === undefined ? schema : definitions[schema.$ref.split('/').at(-1) as string] as Schema

  function rowsOf (schema: Schema, above: string): string[] {
    return Object.entries(schema.properties ?? {}).flatMap(([name, reference]) => {
      const field = resolve(reference)
      const path = `${above}${name}`
      const needed = schema.required?.includes(name) === true ? ' **Required.**' : ''
      const row = `- \`${path}\` (${typeOf(field)}): ${field.description ?? ''}${needed}`
      if (path === PARTS) return [row]
      return [row, ...rowsOf(field, `${path}.`), ...rowsOf(resolve(field.items ?? {}), `${path}[].`)]
    })
  }

  return rowsOf(definitions['prompt'] as Schema, '').join('\n')
}

function typeOf (schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(value => `\`${value}\``).join(', ')
  const types = [schema.type ?? 'any JSON'].flat().filter(type => type !== 'null')
  const bounds = [
    schema.minimum === undefined && schema.maximum === undefined ? '' : `${schema.minimum ?? ''} to ${schema.maximum ?? ''}`.replace(/^ to /, 'at most ').replace(/ to $/, ' or more'),
    schema.maxLength === undefined ? '' : `at most ${schema.maxLength} characters`,
    schema.maxItems === undefined ? '' : `at most ${schema.maxItems}`
  ].filter(bound => bound !== '')
  return [types.join(' or '), ...bounds].join(', ')
}
