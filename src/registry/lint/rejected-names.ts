import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type FindRejected, type Prompt } from '../generation/generation.ts'
import { extensionKind } from '../kinds/extension/extension-kind.ts'
import { promptKind } from '../kinds/prompt/prompt-kind.ts'
import { toolKind } from '../kinds/tool/tool-kind.ts'
import { advise, type Suggestions } from './suggestions.ts'

/** The greatest number of segments of a name whose beginnings are looked up: a template may use a very long name. */
const MAX_SEGMENTS = 32

/**
 * What is to be said of a prompt. A name that nothing answers to may be that of an entry that was rejected, which is found
 * out when it is asked for: it depends on who asks, and a rejection links no prompt anew.
 * @param near finds what else may be meant; left out, nobody wants to know
 */
export function diagnosticsOf (
  { diagnostics, unfound }: Pick<Prompt, 'diagnostics' | 'unfound'>,
  findRejected: FindRejected,
  near?: Suggestions
): readonly Diagnostic[] {
  if (unfound.size === 0) return diagnostics
  return diagnostics.map(diagnostic => {
    const wanted = unfound.get(diagnostic) ?? []
    const [rejected] = wanted.flatMap(({ kind, name }) => (kind === 'tools' ? findRejected(toolKind, name) : rejectedPrompt(name, findRejected)) ?? [])
    if (rejected === undefined) return advise(diagnostic, near?.of(wanted) ?? [])
    const message = `${diagnostic.message} (what is stored under ${rejected.key} could not be loaded)`
    return { ...diagnostic, message, hint: 'correct what is stored there: GET /api/status/entries says what is wrong with it' }
  })
}

/** What is stored for a prompt and cannot be used: the prompt itself, or the extension of whose name its id begins. @param id dotted */
export function rejectedPrompt (id: string, findRejected: FindRejected): EntryProblem | undefined {
  return [findRejected(promptKind, id), ...namesAbove(id).map(name => findRejected(extensionKind, name))].find(problem => problem !== undefined)
}

/** The dotted beginnings of a name, the longest first: `a.b` and `a` for `a.b.c`; none for a name with more segments than any key. */
export function namesAbove (name: string): readonly string[] {
  const segments = name.split('.', MAX_SEGMENTS + 1)
  if (segments.length > MAX_SEGMENTS) return []
  return segments.slice(1).map((_, index) => segments.slice(0, segments.length - 1 - index).join('.'))
}
