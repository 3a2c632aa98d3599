import { t } from '../text/text.ts'

/** A step in the audit of a session: what happened (the fact), and the effects that it began, held back for approval, or denied. */
export interface Step {
  readonly seq: number
  readonly at: string
  readonly fact: unknown
  readonly begun: readonly unknown[]
  readonly held: readonly unknown[]
  readonly denied: readonly unknown[]
}

type Facts = Readonly<Record<string, unknown>>

/**
 * Makes the sentence for each kind of fact. The second argument names the person who caused the fact, the third describes the effect that
 * the fact is about.
 */
const SENTENCES: Readonly<Record<string, (facts: Facts, by: string, effect: string) => string>> = {
  started: ({ start }) => t.factStarted(String((start as { readonly definition?: string } | undefined)?.definition)),
  input: ({ action, text }, by) => action === undefined ? t.factSaid(by, String(text)) : t.factAction(by, String((action as { readonly name?: string }).name)),
  decided: ({ decision }, by, effect) => `${decision === 'approve' ? t.factAllowed(by) : t.factRefused(by)}: ${effect}`,
  refused: ({ reason }, by) => `${t.factRefused(by)}: ${String(reason)}`,
  result: (_facts, _by, effect) => t.factEnded(effect),
  failure: ({ message }, _by, effect) => `${t.factFailed(effect)}: ${String(message)}`,
  unknown: (_facts, _by, effect) => t.factUnknown(effect),
  took: () => t.factTook,
  stopped: ({ reason }, by) => `${t.factStopped(by)}: ${String(reason)}`
}

/** Makes a sentence for each step of an audit. A fact of an unknown kind is described by the name of the kind. */
export function sentencesOf (steps: readonly Step[]): readonly string[] {
  const told = steps.flatMap(({ begun, held }) => [...held.map(heldOf), ...begun]) as readonly Facts[]
  const effects = new Map(told.map(effect => [String(effect['id']), wordsOf(effect)]))
  return steps.map(({ fact, begun: [first] }) => {
    const facts = (typeof fact === 'object' && fact !== null ? fact : {}) as Facts
    const kind = String(facts['kind'])
    const effect = String(facts['effect'])
    const by = typeof facts['by'] === 'string' && facts['by'] !== '' ? facts['by'] : t.somebody
    const sentence = Object.hasOwn(SENTENCES, kind) ? SENTENCES[kind]?.(facts, by, effects.get(effect) ?? effect) : kind
    return `${sentence ?? kind}${first === undefined ? '' : ` → ${wordsOf(first as Facts)}`}`
  })
}

/** Converts an effect that waits for approval into the form of an effect that has begun. */
function heldOf (held: unknown): Facts {
  const { id, kind, target, command, tool } = (held as { readonly effect: Facts }).effect
  return { id, kind, subject: { target, command, tool } }
}

/** Describes an effect in words: its kind, and its subject, such as a target and a command. */
function wordsOf ({ kind, subject }: Facts): string {
  const about: readonly unknown[] = Object.values(subject ?? {})
  return [...new Set([t.useKind(String(kind)), ...about.filter(each => each !== undefined).map(String)])].join(' ')
}
