import { objectOf, ownField, textOf } from '../base/json.ts'
import { type Command, type Option } from 'commander'
import { type Cli } from './context.ts'
import { usageError } from './output.ts'
import { ENTRY_KINDS } from './entries.ts'
import { searchOf } from './api-client.ts'

/** In ms, while the user waits for a completion. */
const PATIENCE = 1500

const MAX_IDS = 200

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_aps_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(aps complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _aps_complete aps
`,
  zsh: `#compdef aps
_aps() {
  local -a words_found
  words_found=("\${(@f)$(aps complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( \${#words_found[1]} )); then compadd -a words_found; else _files; fi
}
compdef _aps aps
`,
  fish: `complete -c aps -f -a '(aps complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`
}

export function addCompletionCommands (program: Command, cli: Cli): void {
  program.command('completion').description('print a script that completes words in a shell').argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', '\nbash: source <(aps completion bash)   zsh: source <(aps completion zsh)   fish: aps completion fish | source')
    .action(async (shell: string, _options: object, command: Command) => {
      const script = ownField(SCRIPTS, shell)
      if (script === undefined) throw usageError(`expected ${Object.keys(SCRIPTS).join(', ')}, got "${shell}"`)
      await cli.open(command).output.text(script)
    })

  program.command('complete', { hidden: true }).argument('[words...]').helpOption(false)
    .action(async (words: readonly string[], _options: object, command: Command) => {
      const { output } = cli.open(command)
      const found = await candidates(program, words, prefix => idsOf(prefix, command, cli))
      await output.text(found.map(word => `${word}\n`).join(''))
    })
}

/** @param words the last one is being typed @param idsFor lists ids by prefix; `group` such as `prompt` is their kind */
async function candidates (
  program: Command,
  words: readonly string[],
  idsFor: (about: { readonly group: string, readonly prefix: string }) => Promise<readonly string[]>
): Promise<readonly string[]> {
  const last = words.at(-1) ?? ''
  const path = [program]
  let given = 0
  let option: Option | undefined
  for (const word of words.slice(0, -1)) {
    const here = path.at(-1) as Command
    if (option !== undefined) option = undefined
    else if (word.startsWith('-')) option = optionsOf(path).find(each => (each.long === word || each.short === word) && each.required)
    else {
      const next = here.commands.find(each => each.name() === word || each.aliases().includes(word))
      if (next === undefined) given++
      else path.push(next)
    }
  }
  const here = path.at(-1) as Command
  if (option?.argChoices !== undefined) return startingWith(last, option.argChoices)
  if (option !== undefined && option.long !== '--id') return []
  if (last.startsWith('-')) {
    const names = optionsOf(path).flatMap(({ long, hidden }) => hidden || long === undefined || long === null ? [] : [long])
    return startingWith(last, names)
  }
  if (here.commands.length > 0) return startingWith(last, here.createHelp().visibleCommands(here).map(each => each.name()))
  const group = path.at(-2)?.name() ?? ''
  const takesId = given === 0 && (here.registeredArguments[0]?.name() === 'id' || option !== undefined)
  return takesId ? await idsFor({ group, prefix: last }) : []
}

function optionsOf (path: readonly Command[]): readonly Option[] {
  return path.flatMap(({ options }) => options)
}

function startingWith (prefix: string, words: readonly string[]): readonly string[] {
  return words.filter(word => word.startsWith(prefix)).sort()
}

/** None if the service does not answer in time. */
async function idsOf ({ group, prefix }: { readonly group: string, readonly prefix: string }, command: Command, cli: Cli): Promise<readonly string[]> {
  const kind = ENTRY_KINDS.find(each => each.command === group)
  if (kind === undefined) return []
  const search = searchOf({ limit: String(MAX_IDS), prefix: prefix === '' ? undefined : prefix })
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_resolve, reject) => { timer = setTimeout(() => { reject(new Error('too late')) }, PATIENCE) })
  try {
    const page = await Promise.race([cli.open(command).api.get(`/api/${kind.name}?${search}`), tooLate])
    return Array.isArray(page) ? page.map(id => typeof id === 'string' ? id : textOf(objectOf(id)['id'])) : []
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
