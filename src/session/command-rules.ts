import { starPattern } from '../base/text.ts'
import type { CommandPolicy, CommandRule, CommitEffect, ExecEffect } from './model.ts'

export type Judgement =
  | { readonly answer: 'allow' }
  | { readonly answer: 'ask', readonly rule: string }
  | { readonly answer: 'deny', readonly by: 'policy', readonly reason: string }

const ASKED = 'commands are approved one by one'

/** What makes a text more than one simple command to a shell. */
const COMPOUND = /[;|&$()<>`\r\n]/

/** Deny rules go before ask, and ask before allow. They prevent a model's mistakes, but stop no attacker, who can write a command in another way. */
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

const SEPARATORS = /[;|&()`\r\n]|\$\(/

const RESERVED: ReadonlySet<string> = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', '!'])

const WRAPPERS: ReadonlySet<string> = new Set([
  'time', 'env', 'exec', 'nohup', 'xargs', 'command', 'builtin', 'eval', 'coproc', 'sudo', 'doas', 'nice', 'ionice', 'timeout', 'stdbuf', 'setsid',
  'watch', 'parallel', 'strace', 'busybox', 'sh', 'bash', 'dash', 'zsh', 'ksh'
])

/** Words that are followed by a command wherever they stand. */
const OPENERS: ReadonlySet<string> = new Set(['{', '-exec', '-execdir', '-ok', '-okdir'])

const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/

const REDIRECTION = /^\d*(?:>>?|<{1,3})/

interface SimpleCommand {
  readonly words: readonly string[]
  readonly from: number
  /** `/bin/rm` is `rm` to a deny rule, but not to an allow rule. */
  readonly isAnywhere?: boolean
}

/** Finds too many commands rather than too few: a text in quotes is an argument to some programs and a command to others. */
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

/** The word after an option may be its value or a command, so both are given. */
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

function programOf (word: string): string {
  return word.slice(word.lastIndexOf('/') + 1)
}

export const COMMITS_ARE_ASKED = 'commits are approved one by one'

/** The rules for `git commit` of all targets whose folder is the workspace apply, and the strictest counts. No match asks. */
export function judgeCommit (targets: readonly string[], rules: readonly CommandRule[]): Judgement {
  const places = targets.length === 0 ? [''] : targets
  const command = { id: '', kind: 'exec', command: 'git commit', origin: 'model', timeout: 0 } as const
  const strictest = places.map(target => judgeCommand({ ...command, target }, { rules, isAuto: false })).reduce(stricter)
  return strictest.answer === 'ask' && strictest.rule === ASKED ? { answer: 'ask', rule: COMMITS_ARE_ASKED } : strictest
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const

export function stricter (first: Judgement, second: Judgement): Judgement {
  return STRICTNESS[second.answer] > STRICTNESS[first.answer] ? second : first
}

/** `*` inside a word stands for any characters of it; as the last word, for any further words or none. */
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

/** Takes linear time. */
function matchesWord (pattern: string, word: string): boolean {
  return starPattern(pattern)(word)
}

/** What the operator's configuration says now: it may have changed since a session started. `undefined` without a configuration. */
export interface OperatorRules {
  readonly commands: (effect: ExecEffect) => CommandPolicy | undefined
  readonly commits: (effect: CommitEffect) => Judgement | undefined
}
