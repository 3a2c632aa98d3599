import { type Diagnostic } from './diagnostic.ts'
import { type FindRejected, type Prompt } from './generation.ts'

/**
 * What is to be said of a prompt. A name that nothing answers to may be that of an entry that was rejected, which is found
 * out when it is asked for: it depends on who asks, and a rejection links no prompt anew.
 */
export function diagnosticsOf ({ diagnostics, unfound }: Pick<Prompt, 'diagnostics' | 'unfound'>, findRejected: FindRejected): readonly Diagnostic[] {
  if (unfound.size === 0) return diagnostics
  return diagnostics.map(diagnostic => {
    const [rejected] = (unfound.get(diagnostic) ?? []).flatMap(({ kind, name }) => findRejected(kind, name) ?? [])
    if (rejected === undefined) return diagnostic
    const message = `${diagnostic.message} (what is stored under ${rejected.key} could not be loaded)`
    return { ...diagnostic, message, hint: 'correct what is stored there: GET /api/status/entries says what is wrong with it' }
  })
}
