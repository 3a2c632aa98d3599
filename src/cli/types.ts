import { readFile, writeFile } from 'node:fs/promises'
import { type Command } from 'commander'
import { type Json, type JsonObject } from '../base/json.ts'
import { type Cli } from './cli.ts'
import { CliError, EXIT, usageError } from './exit-codes.ts'
import { objectOf, textOf } from './json-members.ts'
import { commentOf, TypeWriter } from './typescript/type-writer.ts'

interface TypesOptions { readonly output?: string, readonly check?: boolean, readonly prefix?: string, readonly label?: string }

const HEAD = [
  '// Made by `aps types`, not by hand: `aps types --check -o FILE` tells when it is out of date.',
  '',
  '/** The prompts of a service, for `createClient<Prompts>` of ai-prompt-shell/client. */',
  'export interface Prompts {',
  ''
].join('\n')

/** Adds `aps types`, which writes TypeScript types for the variables and answers of the service's prompts. */
export function addTypesCommand (program: Command, cli: Cli): void {
  program.command('types').description('write the types of the prompts, for TypeScript')
    .option('-o, --output <file>', 'the file to write, in place of stdout')
    .option('--check', 'write nothing; the exit code is 1 when the file is out of date')
    .option('--label <label>', 'of the versions that this label means, such as production')
    .option('--prefix <text>', 'only ids that begin with this')
    .action(async ({ output: file, check = false, prefix, label }: TypesOptions, command: Command) => {
      if (check && file === undefined) throw usageError('--check: expected -o with the file that is checked')
      const { api, output } = cli.open(command)
      let text = HEAD
      const search = { ...(prefix === undefined ? {} : { prefix }), ...(label === undefined ? {} : { label }) }
      for await (const page of api.pages('/api/openapi/prompts.json', search)) text += membersOf(objectOf(page))
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

/** The members of the generated TypeScript interface: one for each prompt that the OpenAPI document describes. */
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

/** The JSON schema of a request body or a reply in an OpenAPI document. */
function schemaOf (described: Json | undefined): JsonObject {
  return objectOf(objectOf(objectOf(objectOf(described)['content'])['application/json'])['schema'])
}

/** The schema of the text that the model writes, taken from the schema of a chat completion. */
function contentOf (completion: JsonObject): JsonObject {
  return objectOf(['choices', 'items', 'message', 'content'].reduce<JsonObject>((schema, name) => {
    const next = name === 'items' ? schema['items'] : objectOf(schema['properties'])[name]
    return objectOf(next)
  }, completion))
}
