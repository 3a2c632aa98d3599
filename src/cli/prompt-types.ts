import { readFile, writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { isJsonObject, type Json, type JsonObject, listOf, objectOf, ownField, stringifyJson, textOf } from '../base/json.ts'
import type { Cli } from './context.ts'
import { CliError, EXIT, usageError } from './output.ts'

/** A schema that refers to itself may never end: parts beyond this number become `unknown`. */
const MAX_PARTS = 3000

/** The TypeScript compiler refuses more; without the others the type accepts more values, never fewer. */
const MAX_CONJUNCTS = 4

const TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'string'], ['number', 'number'], ['integer', 'number'], ['boolean', 'boolean'], ['null', 'null']
])

const SHAPES = ['properties', 'required', 'additionalProperties', 'patternProperties', 'items', 'prefixItems']

/** A type accepts all that its schema accepts; lengths, patterns or `not` are checked only by the service. */
export class TypeWriter {
  readonly #root: JsonObject
  readonly #open = new Set<string>()
  #parts = 0

  /** @param root where each `$ref` is looked up */
  constructor (root: JsonObject) {
    this.#root = root
  }

  typeOf (schema: Json | undefined, indent = ''): string {
    this.#parts = 0
    return this.#type(schema, indent)
  }

  #type (schema: Json | undefined, indent: string): string {
    if (schema === false) return 'never'
    if (!isJsonObject(schema) || this.#parts++ > MAX_PARTS) return 'unknown'
    const conjuncts = [this.#target(schema['$ref'], indent), this.#own(schema, indent)]
    for (const keyword of ['anyOf', 'oneOf']) {
      const choices = listOf(schema[keyword])
      if (choices.length > 0) conjuncts.push(unionOf(choices.map(each => this.#type(each, indent))))
    }
    conjuncts.push(...listOf(schema['allOf']).slice(0, MAX_CONJUNCTS).map(each => this.#type(each, indent)))
    const types = [...new Set(conjuncts)].filter(type => type !== 'unknown')
    if (types.includes('never')) return 'never'
    return types.length < 2 ? types[0] ?? 'unknown' : types.map(inParentheses).join(' & ')
  }

  #target (reference: Json | undefined, indent: string): string {
    if (typeof reference !== 'string' || this.#open.has(reference)) return 'unknown'
    this.#open.add(reference)
    const segments = reference.slice(2).split('/').map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    const type = this.#type(memberAt(this.#root, segments), indent)
    this.#open.delete(reference)
    return type
  }

  #own (schema: JsonObject, indent: string): string {
    const { type } = schema
    const names = type === undefined ? [] : [type].flat() as readonly Json[]
    const values = Object.hasOwn(schema, 'const') ? [schema['const'] as Json] : Array.isArray(schema['enum']) ? listOf(schema['enum']) : undefined
    if (values !== undefined) return unionOf(values.filter(value => type === undefined || names.some(name => isOfType(value, name))).map(literalOf))
    if (type === undefined && !SHAPES.some(keyword => Object.hasOwn(schema, keyword))) return 'unknown'
    return unionOf((type === undefined ? [...TYPES.keys(), 'array', 'object'] : names).map(name => {
      if (name === 'object') return this.#object(schema, indent)
      if (name === 'array') return this.#array(schema, indent)
      return TYPES.get(String(name)) ?? 'unknown'
    }))
  }

  #array ({ items, prefixItems, minItems }: JsonObject, indent: string): string {
    const first = listOf(prefixItems).map(each => this.#type(each, indent))
    const rest = items === undefined ? 'unknown' : this.#type(items, indent)
    if (first.length === 0) return `readonly ${inParentheses(rest)}[]`
    const least = typeof minItems === 'number' ? minItems : 0
    const members = first.map((type, index) => index < least ? type : `${inParentheses(type)}?`)
    return `readonly [${[...members, ...(rest === 'never' ? [] : [`...${inParentheses(rest)}[]`])].join(', ')}]`
  }

  #object (schema: JsonObject, indent: string): string {
    const inner = `${indent}  `
    const properties = Object.entries(objectOf(schema['properties']))
    const required = new Set(listOf(schema['required']))
    const patterns = Object.values(objectOf(schema['patternProperties']))
    const { additionalProperties: others = true } = schema
    const types = properties.map(([name, property]) => [name, this.#type(property, inner)] as const)
    const rest = unionOf([...patterns, others].map(each => this.#type(each, inner)))
    const undeclared = [...required].filter(name => !properties.some(([known]) => known === name)).map(name => `${JSON.stringify(name)}: ${rest}`)
    const members = types.map(([name, type]) => {
      const description = objectOf(objectOf(schema['properties'])[name])['description']
      return `${commentOf(description, inner)}readonly ${JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${type}`
    })
    // An index signature's type must include the types of all named members.
    const memberTypes = [rest, ...types.map(([, type]) => type), ...(types.length > 0 ? ['undefined'] : [])]
    const index = rest === 'never' ? [] : [`readonly [name: string]: ${unionOf(memberTypes)}`]
    const lines = [...members, ...undeclared, ...index]
    return lines.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${lines.map(line => `${inner}${line}\n`).join('')}${indent}}`
  }
}

function commentOf (description: Json | undefined, indent: string): string {
  if (typeof description !== 'string' || description.trim() === '') return ''
  return `/** ${description.trim().replaceAll(/[\s\p{C}]+/gu, ' ').replaceAll('*/', '*\\/')} */\n${indent}`
}

function unionOf (types: readonly string[]): string {
  if (types.includes('unknown')) return 'unknown'
  const some = [...new Set(types)].filter(type => type !== 'never')
  return some.length === 0 ? 'never' : some.map(type => some.length > 1 ? inParentheses(type) : type).join(' | ')
}

function inParentheses (type: string): string {
  return /^(?:[\w"]|\{)/.test(type) && !/[|&]|^readonly /.test(type.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')) ? type : `(${type})`
}

function isOfType (value: Json, type: Json): boolean {
  if (type === 'integer') return typeof value === 'bigint' || Number.isInteger(value)
  const found = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'bigint' ? 'number' : typeof value
  return found === type
}

function literalOf (value: Json): string {
  if (typeof value === 'bigint') return 'number'
  if (Array.isArray(value)) return `readonly [${(value as readonly Json[]).map(literalOf).join(', ')}]`
  if (!isJsonObject(value)) return stringifyJson(value)
  const members = Object.entries(value).map(([name, member]) => `readonly ${JSON.stringify(name)}: ${literalOf(member)}`)
  return members.length === 0 ? 'Readonly<Record<string, never>>' : `{ ${members.join('; ')} }`
}

function memberAt (root: JsonObject, segments: readonly string[]): Json | undefined {
  return segments.reduce<Json | undefined>((place, name) => {
    if (Array.isArray(place)) return (place as readonly Json[])[Number(name)]
    return ownField(place, name)
  }, root)
}

const HEAD = [
  '// Made by `aps types`, not by hand: `aps types --check -o FILE` tells when it is out of date.',
  '',
  '/** The prompts of a service, for `createClient<Prompts>` of ai-prompt-shell/client. */',
  'export interface Prompts {',
  ''
].join('\n')

export function addTypesCommand (program: Command, cli: Cli): void {
  program.command('types').description('write the types of the prompts, for TypeScript')
    .option('-o, --output <file>', 'the file to write, in place of stdout')
    .option('--check', 'write nothing; the exit code is 1 when the file is out of date')
    .option('--label <label>', 'of the versions that this label means, such as production')
    .option('--prefix <text>', 'only ids that begin with this')
    .action(async ({ output: file, check = false, prefix, label }: { output?: string, check?: boolean, prefix?: string, label?: string }, command: Command) => {
      if (check && file === undefined) throw usageError('--check: expected -o with the file that is checked')
      const { api, output } = cli.open(command)
      let text = HEAD
      for await (const page of api.pages('/api/openapi/prompts.json', { prefix, label })) text += membersOf(objectOf(page))
      text += '}\n'
      if (file === undefined) return await output.text(text)
      const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw usageError(`-o: ${file} cannot be read: ${error.code ?? error.message}`)
      })
      if (known === text) return await output.words(`${file} is up to date`)
      if (check) throw new CliError(EXIT.NO, `${file} is out of date; aps types -o ${file} renews it`)
      await writeFile(file, text).catch((error: NodeJS.ErrnoException) => { throw usageError(`-o: ${file} cannot be written: ${error.code ?? error.message}`) })
      await output.words(`wrote ${file}`)
    })
}

function membersOf (document: JsonObject): string {
  const writer = new TypeWriter(document)
  return Object.entries(objectOf(document['paths'])).flatMap(([path, methods]) => {
    if (!path.startsWith('/api/chat/')) return []
    const operation = objectOf(objectOf(methods)['post'])
    const body = schemaOf(operation['requestBody'])
    const variables = writer.typeOf(objectOf(body['properties'])['variables'], '    ')
    const { contentSchema } = contentOf(schemaOf(objectOf(operation['responses'])['200']))
    const returns = contentSchema === undefined ? 'string' : writer.typeOf(contentSchema, '    ')
    const name = JSON.stringify(textOf(operation['x-prompt-id']))
    const members = `    readonly variables: ${variables}\n    readonly returns: ${returns}\n`
    return [`  ${commentOf(operation['description'], '  ')}readonly ${name}: {\n${members}  }\n`]
  }).join('')
}

function schemaOf (described: Json | undefined): JsonObject {
  return objectOf(objectOf(objectOf(objectOf(described)['content'])['application/json'])['schema'])
}

function contentOf (completion: JsonObject): JsonObject {
  return objectOf(['choices', 'items', 'message', 'content'].reduce<JsonObject>((schema, name) => {
    const next = name === 'items' ? schema['items'] : objectOf(schema['properties'])[name]
    return objectOf(next)
  }, completion))
}
