import { t } from '../text/text.ts'

/** A step of a session's audit. */
export interface Step {
  readonly seq: number
  readonly at: string
  readonly fact: unknown
  readonly begun: readonly unknown[]
  readonly held: readonly unknown[]
  readonly denied: readonly unknown[]
}

type Facts = Readonly<Record<string, unknown>>

/** What each kind of fact is in words. */
const SENTENCES: Readonly<Record<string, (facts: Facts, by: string) => string>> = {
  started: ({ start }) => t.factStarted(String((start as { readonly definition?: string } | undefined)?.definition)),
  input: ({ action, text }, by) => action === undefined ? t.factSaid(by, String(text)) : t.factAction(by, String((action as { readonly name?: string }).name)),
  decided: ({ decision }, by) => decision === 'approve' ? t.factAllowed(by) : t.factRefused(by),
  refused: ({ reason }, by) => `${t.factRefused(by)}: ${String(reason)}`,
  result: ({ effect }) => t.factEnded(String(effect)),
  failure: ({ effect, message }) => `${t.factFailed(String(effect))}: ${String(message)}`,
  unknown: ({ effect }) => t.factUnknown(String(effect)),
  took: () => t.factTook,
  stopped: ({ reason }, by) => `${t.factStopped(by)}: ${String(reason)}`
}

/** What has happened, as a sentence. A fact of a kind that is not known here is told by its name. */
export function sentenceOf ({ fact, begun }: Step): string {
  const facts = (typeof fact === 'object' && fact !== null ? fact : {}) as Facts
  const kind = String(facts['kind'])
  const by = typeof facts['by'] === 'string' && facts['by'] !== '' ? facts['by'] : t.somebody
  const sentence = Object.hasOwn(SENTENCES, kind) ? SENTENCES[kind]?.(facts, by) : kind
  return `${sentence ?? kind}${beganOf(begun[0])}`
}

function beganOf (first: unknown): string {
  if (typeof first !== 'object' || first === null) return ''
  const { kind, subject } = first as { readonly kind?: string, readonly subject?: Facts }
  return ` ${t.andBegan(String(kind), Object.values(subject ?? {}).map(String).join(' '))}`
}
