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

/** What has happened, as a sentence. A fact of a kind that is not known here is told by its name. */
export function sentenceOf ({ fact, begun }: Step): string {
  const { kind = '', ...facts } = (typeof fact === 'object' && fact !== null ? fact : {}) as Record<string, unknown> & { readonly kind?: string }
  const by = typeof facts['by'] === 'string' && facts['by'] !== '' ? facts['by'] : t.somebody
  const first = begun[0] as { readonly kind?: string, readonly subject?: Readonly<Record<string, unknown>> } | undefined
  const began = first === undefined ? '' : ` ${t.andBegan(String(first.kind), Object.values(first.subject ?? {}).map(String).join(' '))}`
  switch (kind) {
    case 'started': return `${t.factStarted(String((facts['start'] as { readonly definition?: string } | undefined)?.definition))}${began}`
    case 'input': {
      const action = (facts['action'] as { readonly name?: string } | undefined)?.name
      return `${action === undefined ? t.factSaid(by, String(facts['text'])) : t.factAction(by, action)}${began}`
    }
    case 'decided': return `${facts['decision'] === 'approve' ? t.factAllowed(by) : t.factRefused(by)}${began}`
    case 'refused': return `${t.factRefused(String(facts['by']))}: ${String(facts['reason'])}${began}`
    case 'result': return `${t.factEnded(String(facts['effect']))}${began}`
    case 'failure': return `${t.factFailed(String(facts['effect']))}: ${String(facts['message'])}${began}`
    case 'unknown': return `${t.factUnknown(String(facts['effect']))}${began}`
    case 'took': return `${t.factTook}${began}`
    case 'stopped': return `${t.factStopped(String(facts['by']))}: ${String(facts['reason'])}`
    default: return `${kind}${began}`
  }
}
