import { type Command, Option } from 'commander'
import { apiPath } from '../api-client.ts'
import { type Cli } from '../cli.ts'
import { type IdOptions, idOf, withId } from './entry-id.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { readParameters, withParameters } from '../parameters.ts'
import { printAnswer, printStream } from '../print-chat.ts'

const PROMPT = { noun: 'prompt', command: 'prompt' }

interface RunOptions extends IdOptions { readonly param?: readonly string[], readonly args?: string }

interface ChatOptions extends RunOptions { readonly model?: string, readonly stream: boolean }

/** Adds what can be done with a prompt beside publishing it. */
export function addPromptCommands (prompt: Command, cli: Cli): void {
  withParameters(withId(prompt.command('render').description('print what a prompt renders to'), PROMPT))
    // Scripts of the Go program name a model here, too.
    .addOption(new Option('-m, --model <model>').hideHelp())
    .action(async (id: string | undefined, options: RunOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'render', 'prompts', idOf(PROMPT, id, options))
      const reply = objectOf(await api.post(path, { variables: await readParameters(options, cli.stdin, cli.signal) }))
      if (output.wantsJson) return await output.json(reply)
      const { rendered_prompt: rendered = '' } = reply
      if (typeof rendered === 'string') return await output.text(rendered)
      for (const { role, content } of listOf(rendered).map(objectOf)) {
        await output.heading(`[${textOf(role)}]`)
        await output.text(textOf(content))
      }
    })

  withParameters(withId(prompt.command('chat').description('ask the model with a prompt; its text is printed as it comes'), PROMPT))
    .option('-m, --model <model>', 'the model to ask')
    .option('--no-stream', 'print the answer when it is whole')
    .action(async (id: string | undefined, options: ChatOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'chat', 'prompts', idOf(PROMPT, id, options))
      const body = { variables: await readParameters(options, cli.stdin, cli.signal), ...(options.model === undefined ? {} : { model: options.model }) }
      // JSON is for programs: they get the completion, which a stream is not.
      if (output.wantsJson) return await output.json(await api.post(path, body))
      if (!options.stream) return await printAnswer(output, objectOf(await api.post(path, body)))
      await printStream(output, api.events(path, { ...body, stream: true, stream_options: { include_usage: true } }))
    })
}
