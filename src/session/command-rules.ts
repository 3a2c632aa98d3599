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

/** The places in a command line where a shell may begin another command. Deny and ask rules are matched against each part between these places. */
const SEPARATORS = /[;|&()`\r\n]|\$\(/

/**
 * Judges a command by the operator's rules. Deny rules go before ask rules, and ask before allow, whatever their order in the file. A command that
 * no rule matches needs an approval, unless the policy is `isAuto`. An allow rule only matches a simple command, since after `;` or `$(` another
 * command may follow. Deny rules prevent mistakes of a model. They do not stop an attacker, since every command can be written in another way.
 */
export function judgeCommand ({ command, target, origin }: ExecEffect, policy: CommandPolicy | undefined): Judgement {
  const rules = policy?.rules.filter(({ targets }) => targets === undefined || targets.includes(target)) ?? []
  const matching = (effect: CommandRule['effect'], parts: readonly string[]): CommandRule | undefined =>
    rules.find(rule => rule.effect === effect && parts.some(part => matchesCommand(rule.command, part)))

  const denied = matching('deny', [command, ...command.split(SEPARATORS)])
  if (denied !== undefined) return { answer: 'deny', by: 'policy', reason: `the operator denies "${denied.command}"` }
  if (origin === 'fallback') return { answer: 'ask', rule: 'the model did not say that this is a command' }
  const asked = matching('ask', [command, ...command.split(SEPARATORS)])
  if (asked !== undefined) return { answer: 'ask', rule: `the operator asks for "${asked.command}"` }
  if (policy?.isAuto === true) return { answer: 'allow' }
  const allowed = COMPOUND.test(command) ? undefined : matching('allow', [command])
  return allowed === undefined ? { answer: 'ask', rule: ASKED } : { answer: 'allow' }
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
export function matchesCommand (pattern: string, command: string): boolean {
  const [wanted, words] = [wordsOf(pattern), wordsOf(command)]
  if (wanted.length === 0) return false
  const takesMore = wanted.at(-1) === '*'
  if (takesMore) wanted.pop()
  return (takesMore ? words.length >= wanted.length : words.length === wanted.length) && wanted.every((word, index) => matchesWord(word, words[index] ?? ''))
}

function wordsOf (text: string): string[] {
  return text.split(/[ \t]+/).filter(word => word !== '')
}

/**
 * Whether a word matches a pattern with `*`. This takes linear time, since the parts between the stars are searched for one after the other,
 * never backwards.
 */
function matchesWord (pattern: string, word: string): boolean {
  const parts = pattern.split('*')
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (parts.length === 1) return word === pattern
  if (word.length < first.length + last.length || !word.startsWith(first) || !word.endsWith(last)) return false
  let from = first.length
  for (const part of parts.slice(1, -1)) {
    const at = word.indexOf(part, from)
    if (at < 0 || at + part.length > word.length - last.length) return false
    from = at + part.length
  }
  return true
}
