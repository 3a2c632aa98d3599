import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import { withoutEnd } from '../base/text.ts'
import { type Cli } from './context.ts'
import { CliError, EXIT } from './output.ts'

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
