import { constants } from 'node:fs'
import { access, copyFile, mkdir, readdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Command, Option } from 'commander'
import { withoutEnd } from '../base/text.ts'
import { type Cli } from './cli.ts'
import { CliError, EXIT } from './exit-codes.ts'

/** What `aps init --with …` can write into a new folder beside a prompt. */
const PARTS = ['agent', 'skill', 'plan'] as const

type StarterPart = typeof PARTS[number]

/** Files that get a dot before their name only when they are copied. npm leaves a `.gitignore`, and the files that it names (`.env`), out of a package. */
const DOT_FILES: ReadonlyMap<string, string> = new Map([['env', '.env'], ['gitignore', '.gitignore']])

/** Adds `aps init [folder]`, which writes an example folder that can be served at once. */
export function addInitCommand (program: Command, cli: Cli): void {
  program.command('init').description('write a folder with a prompt, a shared variable and a scripted model, ready to be served')
    .argument('[folder]', 'the folder, made where it is not there', '.')
    .addOption(new Option('--with <part>', 'with one of these, too').choices(PARTS))
    .action(async (folder: string, options: { readonly with?: StarterPart }, command: Command) => {
      const { output } = cli.open(command)
      const files = await writeStarter(folder, options.with)
      if (output.wantsJson) return await output.json(files)
      await output.text(`wrote ${files.length} files in ${folder === '.' ? 'this folder' : `${withoutEnd(folder, '/')}/`}`)
      for (const file of files) await output.text(`  ${file}`)
      await output.text(`next: ${folder === '.' ? '' : `cd ${folder} && `}npx ai-prompt-shell serve`)
    })
}

/**
 * Writes the files of a new folder. Nothing is overwritten: if one of the files exists, none is written.
 * @param part what the folder gets beside a prompt
 * @returns the paths of the files, relative to the folder
 * @throws CliError that names the files that exist
 */
async function writeStarter (folder: string, part: StarterPart | undefined): Promise<readonly string[]> {
  // The files of a part replace those of the prompt that have the same path: a part has its own model script and configuration.
  const files = new Map([...await filesOf('prompt'), ...part === undefined ? [] : await filesOf(part)])
  const paths = [...files.keys()].toSorted()
  const present = (await Promise.all(paths.map(async path => await isThere(join(folder, path)) ? [path] : []))).flat()
  if (present.length > 0) throw new CliError(EXIT.NO, `nothing was written: ${folder === '.' ? 'this folder' : folder} has ${present.join(', ')} already`)
  for (const [path, source] of files) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true })
    await copyFile(source, target, constants.COPYFILE_EXCL)
  }
  return paths
}

/** The files of an example in this package, by the path that each gets in the user's folder. */
async function filesOf (starter: 'prompt' | StarterPart): Promise<ReadonlyMap<string, string>> {
  const root = fileURLToPath(new URL(`../../examples/starters/${starter}`, import.meta.url))
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return new Map(entries.filter(entry => entry.isFile()).map(entry => {
    const source = join(entry.parentPath, entry.name)
    const path = relative(root, source)
    return [DOT_FILES.get(path) ?? path, source]
  }))
}

async function isThere (path: string): Promise<boolean> {
  return await access(path).then(() => true, () => false)
}
