import { duration } from '../parts/time.ts'
import { ruleInRussian } from '../text/rules-ru.ts'
import { language, t } from '../text/text.ts'
import { type Call, type Line, type LineKind, record } from './audit.ts'

/** How many characters of arguments a sentence has. */
const MAX_GIVEN = 160

/** What each kind of line says. */
const LINES: Readonly<Record<LineKind, (line: Line) => string>> = {
  started: ({ by, text }) => t.lineStarted(nameOf(by), text),
  said: ({ by, text }) => t.lineSaid(nameOf(by), text),
  acted: ({ by, text }) => t.lineActed(nameOf(by), text),
  call: ({ call }) => call === undefined ? '' : callWords(call),
  took: () => t.lineTook,
  stopped: ({ text }) => t.lineStopped(text),
  ended: ({ text }) => t.lineEnded(text),
  other: ({ text }) => t.lineOther(text)
}

/** What each kind of call does. */
const CALLS: Readonly<Record<string, (began: boolean, subject: Readonly<Record<string, string>>, given: string) => string>> = {
  llm: (began, { purpose = '' }) => t.asksModel(began, purpose),
  tool: (began, { tool = '' }, given) => t.callsTool(began, tool, given),
  exec: (began, { command = '', target = '' }) => t.runsCommand(began, command, target),
  shell: (began, { target = '' }) => t.opensShell(began, target),
  check: (began, { check = '', workspace = '' }) => t.makesCheck(began, check, workspace),
  read: (began, { target, workspace = '' }) => t.readsFiles(began, target ?? workspace),
  apply: (began, { workspace = '' }) => t.changesFiles(began, workspace),
  commit: (began, { workspace = '' }) => t.makesCommit(began, workspace),
  remember: (began, { workspace = '' }) => t.remembers(began, workspace),
  tests: (began, { prompt = '' }) => t.runsTests(began, prompt),
  move: (began, { label = '', prompt = '' }) => t.movesLabel(began, label, prompt),
  child: (began, { definition = '' }) => t.startsChild(began, definition)
}

/** A line of a timeline as a sentence. */
export function lineWords (line: Line): string {
  return LINES[line.kind](line)
}

/** A call as a sentence. */
export function callWords ({ kind, subject, began, arguments: given }: Call): string {
  const words = Object.hasOwn(CALLS, kind) ? CALLS[kind] : undefined
  if (words === undefined) return t.doesOther(kind)
  const texts = Object.fromEntries(Object.entries(subject).filter((each): each is [string, string] => typeof each[1] === 'string'))
  const shown = typeof given === 'string' ? given : Object.keys(record(given)).length === 0 ? '' : JSON.stringify(given)
  return words(began !== undefined, texts, shown.length <= MAX_GIVEN ? shown : `${shown.slice(0, MAX_GIVEN)}…`)
}

/** How a call ended, and who let it happen, as sentences; none for one that nobody was asked about, and that went well. */
export function endWords ({ end, message = '', result, askedAt, rule: given = '', decision }: Call): string {
  const rule = language === 'ru' ? ruleInRussian(given) : given
  const asked = askedAt === undefined || end === 'waits' ? [] : [t.wasAsked(rule)]
  const wait = decision === undefined ? 0 : Math.max(0, decision.at - (askedAt ?? decision.at))
  const decided = decision === undefined ? [] : [t.wasDecided(nameOf(decision.by), decision.isYes, duration(wait))]
  return [...asked, ...decided, ENDS[end](message, rule, result)].filter(words => words !== '').join(' ')
}

const ENDS: Readonly<Record<Call['end'], (message: string, rule: string, result: unknown) => string>> = {
  waits: (_message, rule) => t.endWaits(rule),
  runs: () => t.endRuns,
  ok: () => '',
  failed (message, _rule, result) {
    const { exitCode } = record(result)
    return typeof exitCode === 'number' ? t.endExit(exitCode) : t.endFailed(message)
  },
  refused: message => t.endRefused(message),
  denied: message => t.endDenied(message),
  unknown: () => t.endUnknown,
  'given-up': () => t.endGivenUp
}

function nameOf (by: string): string {
  return by === '' ? t.somebody : by
}
