import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { pluralOf, withoutEnd } from '../base/text.ts'
import { type Cli, withParameters } from './context.ts'
import type { CliKind } from './entries.ts'
import type { LintFormat } from './lint.ts'
import type { DevOptions } from './serve.ts'
import type { SyncOptions } from './sync.ts'
import { CliError, EXIT } from './output.ts'
import type { TestOptions } from './test.ts'

export function addApplyCommand (group: Command, kind: CliKind, cli: Cli): void {
  group.command('apply').description(`publish the ${pluralOf(kind.noun)} of a file or a folder`)
    .requiredOption('-f, --file <path>', `a file, or a folder ${kind.key}/ or with one`)
    .option('-i, --id <id>', 'for a file whose path does not say it')
    .action(async (options: { readonly file: string, readonly id?: string }, command: Command) => {
      const { applyEntries } = await import('./folder.ts')
      await applyEntries(kind, options.file, options.id, cli.open(command))
    })
}

export function addSyncCommands (program: Command, cli: Cli): void {
  program.command('diff').description('show what differs between a folder and a service, as push would change it').argument('[folder]', 'the folder', '.')
    .action(async (folder: string, _options: object, command: Command) => {
      const { diffFolder } = await import('./sync.ts')
      await diffFolder(folder, cli.open(command))
    })

  withSyncOptions(program.command('push').description('make a service have what a folder has; nothing that somebody has edited there is overwritten'))
    .option('--note <text>', 'what has changed, kept with the versions of prompts')
    .option('--label <label>', 'once all is stored, let this label mean what the folder has, for each prompt of it')
    .action(async (folder: string, options: SyncOptions, command: Command) => {
      const { pushFolder } = await import('./sync.ts')
      await pushFolder(folder, options, cli.open(command), cli)
    })

  withSyncOptions(program.command('pull').description('make a folder have what a service has; files whose content is the same stay as they are'))
    .action(async (folder: string, options: SyncOptions, command: Command) => {
      const { pullFolder } = await import('./sync.ts')
      await pullFolder(folder, options, cli.open(command), cli)
    })
}

function withSyncOptions (command: Command): Command {
  return command.argument('[folder]', 'the folder', '.')
    .option('--dry-run', 'show what would change, and end with 1 if something would')
    .option('--prune', 'remove what the other side does not have, within its modules')
    .option('--overwrite', 'undo edits of the other side, too')
    .option('-y, --yes', 'ask nobody')
}

export function addDevCommand (program: Command, cli: Cli): void {
  const dev = program.command('dev')
    .description('serve a folder, and render a prompt again whenever something is saved; the key c opens the console')
    .argument('[folder]', 'the folder', '.')
  withParameters(dev)
    .option('--prompt <id>', 'the prompt')
    .action(async (folder: string, options: DevOptions, command: Command) => {
      const { develop } = await import('./serve.ts')
      await develop(folder, options, cli.open(command).output, cli)
    })
}

export function addServeCommand (program: Command, cli: Cli): void {
  program.command('serve').description('serve a folder of prompts; a file .env in it configures the service')
    .argument('[folder]', 'the folder', '.')
    .action(async (folder: string, _options: object, command: Command) => {
      const { serveHere } = await import('./serve.ts')
      await serveHere(folder, cli.open(command).output)
    })
}

const TRUST = ['--trust', 'take all of the folder\'s .env, also what runs commands or says where keys are sent'] as const

export function addLintCommand (program: Command, cli: Cli): void {
  program.command('lint').description('check the files of a folder as the service does; ends with 1 for an error').argument('[folder]', 'the folder', '.')
    .option('--server', 'with what is registered at a service, in place of the folder alone')
    .option(...TRUST)
    .addOption(new Option('--format <format>', 'github: annotations of a workflow').choices(['text', 'json', 'github']).default('text'))
    .action(async (folder: string, { server, trust, format }: Omit<TestOptions, 'format'> & { readonly format: LintFormat }, command: Command) => {
      const opened = cli.open(command)
      const { lintFolder } = await import('./lint.ts')
      await lintFolder(folder, server === true ? opened.api : undefined, trust === true, format, opened.output, cli)
    })
}

export function addTestCommand (program: Command, cli: Cli): void {
  program.command('test').description('run the tests of prompts; ends with 1 when one fails')
    .argument('[what...]', 'a folder, whose tests are run on its prompts; or ids of prompts, such as review.short@9, whose tests a service has (default: ".")')
    .option('--server', 'test the prompts of a service: with the tests of a folder, or without one all that it has')
    .option('--label <label>', 'the version that a label means')
    .option(...TRUST)
    .addOption(new Option('--format <format>', 'junit: XML for build servers; github: annotations of a workflow')
      .choices(['text', 'json', 'junit', 'github'])
      .default('text'))
    .action(async (what: readonly string[], options: TestOptions, command: Command) => {
      const { testPrompts } = await import('./test.ts')
      await testPrompts(what, options, cli.open(command), cli)
    })
}

const PARTS = ['agent', 'skill', 'plan'] as const

type StarterPart = typeof PARTS[number]

/** npm leaves a `.gitignore`, and the files that it names (`.env`), out of a package. */
const DOT_FILES: ReadonlyMap<string, string> = new Map([['env', '.env'], ['gitignore', '.gitignore']])

export function addInitCommand (program: Command, cli: Cli): void {
  program.command('init').description('write a folder with a prompt, a shared variable and a scripted model, ready to be served')
    .argument('[folder]', 'the folder, made where it is not there', '.')
    .option('--with <part>', `with one of these, too: ${PARTS.join(', ')}; several times, or with commas between`, partsIn, [])
    .action(async (folder: string, options: { readonly with: readonly StarterPart[] }, command: Command) => {
      const { output } = cli.open(command)
      const { written, left, lacking } = await writeStarter(folder, options.with)
      const here = folder === '.' ? 'this folder' : `${withoutEnd(folder, '/')}/`
      if (left.length > 0) await output.words(`left as they are in ${here}: ${left.join(', ')}`)
      if (lacking.length > 0) await output.words(`.env lacks what these parts want: ${lacking.map(line => line.join('=')).join(' ')}`)
      if (output.wantsJson) return await output.json(written)
      await output.text(`wrote ${written.length} files in ${here}`)
      for (const file of written) await output.text(`  ${file}`)
      await output.text(`next: ${folder === '.' ? '' : `cd ${folder} && `}npx ai-prompt-shell serve`)
    })
}

function partsIn (text: string, sofar: readonly StarterPart[]): readonly StarterPart[] {
  const names = text.split(',').map(name => name.trim())
  const wrong = names.find(name => !isPart(name))
  if (wrong !== undefined) throw new InvalidArgumentError(`Expected ${PARTS.join(', ')}, got "${wrong}".`)
  return [...sofar, ...names.filter(isPart)]
}

function isPart (name: string): name is StarterPart {
  return PARTS.some(part => part === name)
}

/** What is there stays as it is. @throws CliError if every file is there */
async function writeStarter (folder: string, parts: readonly StarterPart[]) {
  const files = new Map<string, string>()
  for (const starter of ['prompt', ...new Set(parts)] as const) {
    // Several parts have a `.env`: theirs is joined.
    for (const [path, content] of await filesOf(starter)) files.set(path, `${files.get(path) ?? ''}${content}`)
  }
  const written: string[] = []
  const left: string[] = []
  for (const path of [...files.keys()].toSorted()) (await writeNew(join(folder, path), files.get(path) as string) ? written : left).push(path)
  if (written.length === 0) throw new CliError(EXIT.NO, `nothing was written: ${folder === '.' ? 'this folder' : folder} has ${left.join(', ')} already`)
  const own = left.includes('.env') ? parseEnv(await readFile(join(folder, '.env'), 'utf8')) : undefined
  const lacking = own === undefined ? [] : Object.entries(parseEnv(files.get('.env') as string)).filter(([name]) => !Object.hasOwn(own, name))
  return { written, left, lacking }
}

async function writeNew (path: string, content: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true })
  try {
    await writeFile(path, content, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

async function filesOf (starter: 'prompt' | StarterPart): Promise<ReadonlyArray<readonly [string, string]>> {
  const root = fileURLToPath(new URL(`../../examples/starters/${starter}`, import.meta.url))
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return await Promise.all(entries.filter(entry => entry.isFile()).map(async entry => {
    const source = join(entry.parentPath, entry.name)
    const path = relative(root, source)
    return [DOT_FILES.get(path) ?? path, await readFile(source, 'utf8')] as const
  }))
}
