import { type Command } from 'commander'
import { apiPath } from './api-client.ts'
import { type Cli } from './cli.ts'
import { usageError } from './exit-codes.ts'
import { listOf, objectOf, textOf } from './json-members.ts'
import { readParameters, withParameters } from './parameters.ts'
import { printAnswer, printStream } from './print-chat.ts'

/** An id may be an argument or an option. */
interface IdOptions { readonly id?: string }

interface RunOptions extends IdOptions { readonly param?: readonly string[], readonly args?: string }

interface ChatOptions extends RunOptions { readonly model?: string, readonly stream: boolean }

/** Adds `aps prompt …`. */
export function addPromptCommands (program: Command, cli: Cli): void {
  const prompt = program.command('prompt').description('list, read, render and ask prompts')

  prompt.command('list').description('list prompts')
    .option('--prefix <text>', 'only ids that begin with this')
    .action(async ({ prefix }: { readonly prefix?: string }, command: Command) => {
      const { api, output } = cli.open(command)
      const prompts = await api.list('/api/prompts', { detail: 'true', ...(prefix === undefined ? {} : { prefix }) })
      if (output.wantsJson) return await output.json(prompts)
      const columns = ['id', 'state', 'syntax', 'form', 'description']
      await output.rows(columns, prompts.map(row => columns.map(column => textOf(objectOf(row)[column]))))
    })

  withId(prompt.command('get').description('print a prompt as it is registered, as YAML'))
    .action(async (id: string | undefined, options: IdOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const reply = objectOf(await api.get(apiPath('api', 'prompts', idOf(id, options))))
      if (output.wantsJson) return await output.json(reply)
      const { stringify } = await import('yaml')
      await output.text(stringify(reply['prompt']))
      for (const { severity, message } of listOf(reply['diagnostics']).map(objectOf)) await output.words(`${textOf(severity)}: ${textOf(message)}`)
    })

  withParameters(withId(prompt.command('render').description('print what a prompt renders to')))
    .action(async (id: string | undefined, options: RunOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'render', 'prompts', idOf(id, options))
      const reply = objectOf(await api.post(path, { variables: await readParameters(options, cli.stdin, cli.signal) }))
      if (output.wantsJson) return await output.json(reply)
      const { rendered_prompt: rendered = '' } = reply
      if (typeof rendered === 'string') return await output.text(rendered)
      for (const { role, content } of listOf(rendered).map(objectOf)) {
        await output.heading(`[${textOf(role)}]`)
        await output.text(textOf(content))
      }
    })

  withParameters(withId(prompt.command('chat').description('ask the model with a prompt; its text is printed as it comes')))
    .option('-m, --model <model>', 'the model to ask')
    .option('--no-stream', 'print the answer when it is whole')
    .action(async (id: string | undefined, options: ChatOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'chat', 'prompts', idOf(id, options))
      const body = { variables: await readParameters(options, cli.stdin, cli.signal), ...(options.model === undefined ? {} : { model: options.model }) }
      // JSON is for programs: they get the completion, which a stream is not.
      if (output.wantsJson) return await output.json(await api.post(path, body))
      if (!options.stream) return await printAnswer(output, objectOf(await api.post(path, body)))
      await printStream(output, api.events(path, { ...body, stream: true, stream_options: { include_usage: true } }))
    })
}

function withId (command: Command): Command {
  return command.argument('[id]', 'the prompt').option('-i, --id <id>', 'the prompt, where it is no argument')
}

function idOf (argument: string | undefined, { id = argument }: IdOptions): string {
  if (id === undefined || id === '') throw usageError('expected the id of a prompt; aps prompt list shows them')
  if (argument !== undefined && id !== argument) throw usageError(`expected one id, got "${argument}" and "${id}"`)
  return id
}
