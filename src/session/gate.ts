import type { JsonObject } from '../base/json.ts'
import { starPattern } from '../base/text.ts'
import { type AboutEffect, approvalDigest } from './approvals.ts'
import { addSpent, depthOf, leftOf, MAX_DEPTH, reservationFor, reservedIn, waitsForRoom } from './child.ts'
import { digestOf, rowOf } from './effects.ts'
import type { ChildEffect, CommandPolicy, CommandRule, CommitEffect, Effect, ExecEffect } from './model.ts'
import { MAX_LOG_BYTES, type OpenEffect, type Session, type SpentBudget } from './session.ts'

type Judgement =
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

const COMMITS_ARE_ASKED = 'commits are approved one by one'

/** The rules for `git commit` of all targets whose folder is the workspace apply, and the strictest counts. No match asks. */
export function judgeCommit (targets: readonly string[], rules: readonly CommandRule[]): Judgement {
  const places = targets.length === 0 ? [''] : targets
  const command = { id: '', kind: 'exec', command: 'git commit', origin: 'model', timeout: 0 } as const
  const strictest = places.map(target => judgeCommand({ ...command, target }, { rules, isAuto: false })).reduce(stricter)
  return strictest.answer === 'ask' && strictest.rule === ASKED ? { answer: 'ask', rule: COMMITS_ARE_ASKED } : strictest
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const

function stricter (first: Judgement, second: Judgement): Judgement {
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

/** `owe`: the effect stays in the session, and has to be begun later. */
type Verdict =
  | Exclude<Judgement, { readonly answer: 'ask' }>
  | { readonly answer: 'ask', readonly rule: string, readonly about: JsonObject }
  | { readonly answer: 'deny', readonly by: 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/** In `session`, effects begun just before this one count as used budget. */
export type Gate = (session: Session, open: OpenEffect) => Verdict

/** What the operator's configuration says now: it may have changed since a session started. */
export interface PolicyContext {
  /** `undefined` without a configuration. */
  readonly commands: (effect: ExecEffect) => CommandPolicy | undefined
  /** `undefined` without a configuration. */
  readonly commits: (effect: CommitEffect) => Judgement | undefined
  readonly about: AboutEffect
}

/** Only the rules that a session's log records decide. */
export const NO_POLICY_CONTEXT: PolicyContext = { commands: () => undefined, commits: () => undefined, about: () => ({}) }

/** This many equal calls since the user's last input need an approval: it stops a model that repeats itself. */
const REPEATED_CALLS = 3

/** A repeat of an interrupted call may do the same thing twice. */
const DOUBTFUL = 'the same call was interrupted before, and may have been done'

/** The rules at the session's start and those of now both count, and the stricter wins. */
export function createGate (circumstances: PolicyContext): Gate {
  const { about: aboutOf } = circumstances
  return (session, open) => {
    const { effect, approved, by } = open
    const { start: { budget }, bytes } = session
    // A child that was begun before may go on, whatever is left: the effect only waits for its end again.
    if (effect.kind === 'wait' || (effect.kind === 'child' && by !== undefined)) return { answer: 'allow' }
    if (waitsForRoom(session, open)) return { answer: 'owe' }
    const used = addSpent(session.used, reservedIn(session, effect.id))
    if (used.steps >= budget.steps) return { answer: 'deny', by: 'budget', reason: `the session has made its ${budget.steps} calls` }
    if (used.tokens >= budget.tokens) return { answer: 'deny', by: 'budget', reason: `the session has used its ${budget.tokens} tokens` }
    if (bytes >= MAX_LOG_BYTES) return { answer: 'deny', by: 'budget', reason: `the log of the session has its ${MAX_LOG_BYTES} bytes` }
    const verdict = (effect.kind === 'child' ? refuseChild(session, effect) : undefined) ?? judge(session, effect, circumstances)
    // An effect that has begun before was allowed then: a replica that took the session over does not ask again.
    if (verdict.answer !== 'ask') return verdict
    if (by !== undefined) return { answer: 'allow' }
    // An approval holds only for what was shown: if the host or the folder has changed, the person is asked again.
    const about = aboutOf(session, effect)
    return approved === approvalDigest(session.id, effect, about) ? { answer: 'allow' } : { ...verdict, about }
  }
}

export const gate = createGate(NO_POLICY_CONTEXT)

/** For adding a fact to a session that another replica drives: that one begins the effects. */
export const owingGate: Gate = (_session, { effect }) => effect.kind === 'wait' ? { answer: 'allow' } : { answer: 'owe' }

function judge ({ start, used, doubtful, engine }: Session, effect: Effect, { commands, commits }: PolicyContext): Judgement {
  switch (effect.kind) {
    case 'tool':
      if (start.ask.includes(effect.tool)) return { answer: 'ask', rule: `calls of ${effect.tool} are approved one by one` }
      if (doubtful.has(digestOf(effect))) return { answer: 'ask', rule: DOUBTFUL }
      return isRepeated(effect, used) ? { answer: 'ask', rule: `the same call of ${effect.tool} for the third time since the user spoke` } : { answer: 'allow' }
    case 'exec': {
      const now = commands(effect)
      const began = judgeCommand(effect, start.commands)
      const verdict = now === undefined ? began : stricter(began, judgeCommand(effect, now))
      if (verdict.answer === 'allow' && doubtful.has(digestOf(effect))) return { answer: 'ask', rule: DOUBTFUL }
      return verdict.answer === 'allow' && isRepeated(effect, used)
        ? { answer: 'ask', rule: 'the same command for the third time since the user spoke' }
        : verdict
    }
    case 'apply':
    case 'check':
      if (engine.view.mayWrite !== true) return { answer: 'deny', by: 'policy', reason: 'nothing is written while a plan is made' }
      return judgeByRow(effect)
    case 'commit':
      if (engine.view.mayWrite !== true) return { answer: 'deny', by: 'policy', reason: 'nothing is committed while a plan is made' }
      return commits(effect) ?? { answer: 'ask', rule: COMMITS_ARE_ASKED }
    case 'child':
      return start.ask.includes(effect.definition) ? { answer: 'ask', rule: `calls of ${effect.definition} are approved one by one` } : { answer: 'allow' }
    default:
      return judgeByRow(effect)
  }
}

function refuseChild (session: Session, effect: ChildEffect): Extract<Verdict, { answer: 'deny' }> | undefined {
  if (depthOf(session.start) >= MAX_DEPTH) {
    return { answer: 'deny', by: 'policy', reason: `${MAX_DEPTH} sessions are above this one, and it starts no further one` }
  }
  if (reservationFor(session, effect) !== undefined) return undefined
  const { steps, tokens } = leftOf(session)
  return { answer: 'deny', by: 'budget', reason: `too little of the budget is left: ${steps} steps and ${tokens} tokens` }
}

function judgeByRow (effect: Effect): Judgement {
  const rule = rowOf(effect).asks?.(effect)
  return rule === undefined ? { answer: 'allow' } : { answer: 'ask', rule }
}

function isRepeated (effect: Effect, { calls }: SpentBudget): boolean {
  return (calls.get(digestOf(effect)) ?? 0) + 1 >= REPEATED_CALLS
}
