import { starPattern } from '../base/stars.ts'
import { type CommandPolicy, type CommandRule, type ExecEffect } from './model.ts'

/** The judgement of an effect (a command or another action of the service) by rules: it is allowed, denied, or to be approved by a person. */
export type Judgement =
  | { readonly answer: 'allow' }
  | { readonly answer: 'ask', readonly rule: string }
  | { readonly answer: 'deny', readonly by: 'policy', readonly reason: string }

/** The name of the default rule, as a person reads it: a command that no other rule matches needs an approval. */
const ASKED = 'commands are approved one by one'

/** The characters that make a text more than one simple command to a shell: separators, substitutions, redirections, line ends. */
const COMPOUND = /[;|&$()<>`\r\n]/

/**
 * Judges a command by the operator's rules. Deny rules go before ask rules, and ask before allow, whatever their order in the file. A command that
 * no rule matches needs an approval, unless the policy is `isAuto`. An allow rule only matches a simple command, since after `;` or `$(` another
 * command may follow. Deny rules prevent mistakes of a model. They do not stop an attacker, since every command can be written in another way.
 */
export function judgeCommand ({ command, target, origin }: ExecEffect, policy: CommandPolicy | undefined): Judgement {
  const rules = policy?.rules.filter(({ targets }) => targets === undefined || targets.includes(target)) ?? []
  const matching = (effect: CommandRule['effect'], parts: readonly SimpleCommand[]): CommandRule | undefined =>
    rules.find(rule => rule.effect === effect && parts.some(part => matchesCommand(rule.command, part)))
  const commands = rules.length === 0 ? [] : [...commandsIn(command)]

  const denied = matching('deny', commands)
  if (denied !== undefined) return { answer: 'deny', by: 'policy', reason: `denied: rule "${denied.command}"` }
  if (origin === 'fallback') return { answer: 'ask', rule: 'the model did not say that this is a command' }
  const asked = matching('ask', commands)
  if (asked !== undefined) return { answer: 'ask', rule: `the operator asks for "${asked.command}"` }
  if (policy?.isAuto === true) return { answer: 'allow' }
  const allowed = COMPOUND.test(command) ? undefined : matching('allow', [{ words: wordsOf(command), from: 0 }])
  return allowed === undefined ? { answer: 'ask', rule: ASKED } : { answer: 'allow' }
}

/** The places in a command line where a shell may begin another command. */
const SEPARATORS = /[;|&()`\r\n]|\$\(/

/** Words of a shell that stand before a command, and are none themselves. */
const RESERVED: ReadonlySet<string> = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', '!'])

/** Programs that run the command in their arguments. */
const WRAPPERS: ReadonlySet<string> = new Set([
  'time', 'env', 'exec', 'nohup', 'xargs', 'command', 'builtin', 'eval', 'coproc', 'sudo', 'doas', 'nice', 'ionice', 'timeout', 'stdbuf', 'setsid',
  'watch', 'parallel', 'strace', 'busybox', 'sh', 'bash', 'dash', 'zsh', 'ksh'
])

/** Words that are followed by a command wherever they stand: the brace of a group or a function, and options of `find`. */
const OPENERS: ReadonlySet<string> = new Set(['{', '-exec', '-execdir', '-ok', '-okdir'])

const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/

/** A redirection before a command, such as `2>` or `>log`. */
const REDIRECTION = /^\d*(?:>>?|<{1,3})/

/** A simple command: the words of a line from `from` on. */
interface SimpleCommand {
  readonly words: readonly string[]
  readonly from: number
  /** Whether a pattern also matches the program without the folder in front of it: `/bin/rm` is `rm` to a deny rule, but not to an allow rule. */
  readonly isAnywhere?: boolean
}

/**
 * The simple commands that a shell may run for a command line: behind separators, reserved words, assignments, redirections and programs that run
 * other programs. Quotes are read in three ways (as they are, closed up into one word, and removed), since a text in quotes is an argument for some
 * programs and a command for others. Too many commands are found rather than too few.
 */
function * commandsIn (line: string): Generator<SimpleCommand> {
  yield { words: wordsOf(line), from: 0 }
  const joined = line.replace(/\\\r?\n/g, ' ')
  // The closing quote is optional, so that a match never fails and the time stays linear.
  const closed = joined.replace(/\\[^]|'[^']*'?|"(?:[^"\\]|\\[^])*"?/g, quoted => quoted.replace(/[\s;|&()`]/g, '_'))
  const bare = joined.replace(/['"\\]/g, '')
  for (const text of new Set([joined, closed, bare])) {
    for (const part of text.split(SEPARATORS)) yield * behindPrefixes(wordsOf(part))
  }
}

/** The commands in a part of a line without separators. The word after an option may be its value or a command, so that both are given. */
function * behindPrefixes (words: readonly string[]): Generator<SimpleCommand> {
  let isWrapped = false
  let isValue = false
  for (const [from, word] of words.entries()) {
    const redirection = REDIRECTION.exec(word)?.[0]
    if (RESERVED.has(word) || ASSIGNMENT.test(word)) continue
    if (redirection !== undefined) isValue ||= redirection === word
    else if (isWrapped && /^(?:-|[\d.]+[smhd]?$)/.test(word)) isValue = word.startsWith('-')
    else {
      yield { words, from, isAnywhere: true }
      if (WRAPPERS.has(programOf(word))) isWrapped = true
      else if (!isValue) break
      isValue = false
    }
  }
  for (const [index, word] of words.entries()) if (OPENERS.has(word)) yield { words, from: index + 1, isAnywhere: true }
}

/** The name of a program without the folder in front of it. */
function programOf (word: string): string {
  return word.slice(word.lastIndexOf('/') + 1)
}

/** The name of the default rule for commits, as a person reads it: a commit that no other rule matches needs an approval. */
export const COMMITS_ARE_ASKED = 'commits are approved one by one'

/**
 * Judges a commit of changed files by the operator's rules for the command `git commit`. The rules of all targets whose folder is the
 * workspace are applied, and the strictest judgement counts. A commit that no rule matches needs an approval, even where the target runs
 * other commands without one.
 * @param targets names of the targets whose folder is the workspace. When it is empty, only rules that name no target are applied
 */
export function judgeCommit (targets: readonly string[], rules: readonly CommandRule[]): Judgement {
  const places = targets.length === 0 ? [''] : targets
  const command = { id: '', kind: 'exec', command: 'git commit', origin: 'model', timeout: 0 } as const
  const strictest = places.map(target => judgeCommand({ ...command, target }, { rules, isAuto: false })).reduce(stricter)
  return strictest.answer === 'ask' && strictest.rule === ASKED ? { answer: 'ask', rule: COMMITS_ARE_ASKED } : strictest
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const

/** The stricter of two judgements; the first where both are equally strict. */
export function stricter (first: Judgement, second: Judgement): Judgement {
  return STRICTNESS[second.answer] > STRICTNESS[first.answer] ? second : first
}

/**
 * Whether a command matches the pattern of a rule, word by word. `*` inside a word stands for any characters of that word; `*` as the
 * last word stands for any further words, or none.
 */
function matchesCommand (pattern: string, { words, from, isAnywhere = false }: SimpleCommand): boolean {
  const wanted = wordsOf(pattern)
  if (wanted.length === 0) return false
  const takesMore = wanted.at(-1) === '*'
  if (takesMore) wanted.pop()
  const count = words.length - from
  const fits = (word: string, index: number): boolean => {
    const given = words[from + index] ?? ''
    return matchesWord(word, given) || (isAnywhere && index === 0 && matchesWord(word, programOf(given)))
  }
  return (takesMore ? count >= wanted.length : count === wanted.length) && wanted.every(fits)
}

function wordsOf (text: string): string[] {
  return text.split(/[ \t]+/).filter(word => word !== '')
}

/** Whether a word matches a pattern with `*`, in linear time. */
function matchesWord (pattern: string, word: string): boolean {
  return starPattern(pattern)(word)
}
