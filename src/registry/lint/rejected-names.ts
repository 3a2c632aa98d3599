import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type FindRejected, type Prompt } from '../generation/generation.ts'
import { extensionKind } from '../kinds/extension/extension-kind.ts'
import { promptKind } from '../kinds/prompt/prompt-kind.ts'
import { toolKind } from '../kinds/tool/tool-kind.ts'
import { advise, type Suggestions } from './suggestions.ts'

/** The most segments of a name whose beginnings are looked up, since a template can use a very long name. */
const MAX_SEGMENTS = 32

/**
 * The diagnostics of a prompt, with better advice about names that are not registered: such a name is perhaps that of a rejected entry. The rejected
 * entries are looked up at each call, because callers are allowed to see different ones, and because a rejection does not make prompts be linked again.
 * @param near finds similar names; left out when nobody wants suggestions
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

/**
 * The problem of the rejected entry that should give a prompt: the prompt itself, or the extension with whose name the prompt's id begins.
 * `undefined` when neither was rejected.
 * @param id dotted
 */
export function rejectedPrompt (id: string, findRejected: FindRejected): EntryProblem | undefined {
  return [findRejected(promptKind, id), ...namesAbove(id).map(name => findRejected(extensionKind, name))].find(problem => problem !== undefined)
}

/** The dotted beginnings of a name, the longest first: `a.b` and `a` for `a.b.c`; none for a name with more segments than any key has. */
export function namesAbove (name: string): readonly string[] {
  const segments = name.split('.', MAX_SEGMENTS + 1)
  if (segments.length > MAX_SEGMENTS) return []
  return segments.slice(1).map((_, index) => segments.slice(0, segments.length - 1 - index).join('.'))
}
