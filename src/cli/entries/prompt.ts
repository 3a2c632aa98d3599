import { readFile, writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { type Json, parseJson, stringifyJson } from '../../base/json.ts'
import { apiPath } from '../api-client.ts'
import { type Cli } from '../cli.ts'
import { type IdOptions, idOf, withId } from './entry-id.ts'
import { usageError } from '../exit-codes.ts'
import { objectOf } from '../json-members.ts'
import { readParameters, withParameters } from '../parameters.ts'
import { printExplanation } from './print-explanation.ts'
import { printRendered } from './print-rendered.ts'
import { printAnswer, printStream } from '../print-chat.ts'

const PROMPT = { noun: 'prompt', command: 'prompt' }

interface RunOptions extends IdOptions { readonly param?: readonly string[], readonly args?: string }

interface RenderOptions extends RunOptions { readonly explain?: true, readonly label?: string, readonly record?: string, readonly replay?: string }

interface ChatOptions extends RunOptions { readonly model?: string, readonly stream: boolean }

/** Adds the commands that use a prompt, `aps prompt render` and `aps prompt chat`, beside those that publish it. */
export function addPromptCommands (prompt: Command, cli: Cli): void {
  withParameters(withId(prompt.command('render').description('print what a prompt renders to'), PROMPT))
    .option('--label <label>', 'the version that a label means')
    .option('--explain', 'print where each piece comes from, in colour on a terminal')
    .option('--record <file>', 'write all that it depended on to a file, too')
    .addOption(new Option('--replay <file>', 'render again what was recorded, without a call').conflicts('record'))
    // Scripts written for the former program in Go pass a model to `render`, too; the option is accepted and ignored.
    .addOption(new Option('-m, --model <model>').hideHelp())
    .action(async (id: string | undefined, options: RenderOptions, command: Command) => { await render(idOf(PROMPT, id, options), options, command, cli) })

  withParameters(withId(prompt.command('chat').description('ask the model with a prompt; its text is printed as it comes'), PROMPT))
    .option('-m, --model <model>', 'the model to ask')
    .option('--no-stream', 'print the answer when it is whole')
    .action(async (id: string | undefined, options: ChatOptions, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'chat', 'prompts', idOf(PROMPT, id, options))
      const body = { variables: await readParameters(options, cli.stdin, cli.signal), ...(options.model === undefined ? {} : { model: options.model }) }
      // With `--json` (output for programs) the whole completion is printed at once, never a stream.
      if (output.wantsJson) return await output.json(await api.post(path, body))
      if (!options.stream) return await printAnswer(output, objectOf(await api.post(path, body)))
      await printStream(output, api.events(path, { ...body, stream: true, stream_options: { include_usage: true } }))
    })
}

async function render (id: string, options: RenderOptions, command: Command, cli: Cli): Promise<void> {
  const { api, output } = cli.open(command)
  const { explain, label, record, replay } = options
  const search = new URLSearchParams({
    ...(label === undefined ? {} : { label }),
    ...(explain === true ? { explain: 'true' } : {}),
    ...(record === undefined ? {} : { tools: 'record' })
  }).toString()
  const readVariables = async () => await readParameters(options, cli.stdin, cli.signal)
  const hasVariables = options.args !== undefined || options.param !== undefined
  // A bundle (a recorded render) contains the variables of that render; they are replaced only if the user gives others.
  const body = replay === undefined
    ? { variables: await readVariables() }
    : { bundle: await readBundle(replay), ...(hasVariables ? { variables: await readVariables() } : {}) }
  const reply = objectOf(await api.post(`${apiPath('api', 'render', 'prompts', id)}${search === '' ? '' : `?${search}`}`, body))
  if (record !== undefined) await writeBundle(record, reply['bundle'] ?? null)
  if (output.wantsJson) return await output.json(reply)
  if (explain === true) return await printExplanation(output, objectOf(reply['explain']))
  await printRendered(output, reply['rendered_prompt'] ?? '')
}

async function readBundle (file: string): Promise<Json> {
  try {
    return parseJson(await readFile(file, 'utf8'))
  } catch (error) {
    throw usageError(`--replay: ${file} cannot be read: ${(error as Error).message}`)
  }
}

async function writeBundle (file: string, bundle: Json): Promise<void> {
  // The file is private to the user, as results of tools may be confidential.
  await writeFile(file, `${stringifyJson(bundle, 2)}\n`, { mode: 0o600 }).catch((error: unknown) => {
    throw usageError(`--record: ${(error as Error).message}`)
  })
}
