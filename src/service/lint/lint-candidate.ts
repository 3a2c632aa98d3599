import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { missingDependences, isOffered } from '../../registry/kinds/extension/dependences.ts'
import { asWarnings, type Diagnostic, ofContributed } from '../../registry/diagnostic/diagnostic.ts'
import { PROMPTS } from '../../registry/kinds/extension/extension-entry.ts'
import { extensionKind } from '../../registry/kinds/extension/extension-kind.ts'
import { type ExtensionDefinition } from '../../registry/kinds/extension/extension-definition.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { callersIn } from '../../registry/lint/inline-givers.ts'
import { Linker } from '../../registry/link/link-prompts.ts'
import { lintPrompt } from '../../registry/lint/lint-prompt.ts'
import { type Candidate, fromPlain } from '../../registry/lint/parse-candidate.ts'
import { findToolProblems } from '../../registry/lint/tool-uses.ts'
import { isOptional, isPartial, siblingOf } from '../../registry/link/references.ts'
import { readReference } from '../../registry/link/prompt-reference.ts'
import { createSlices } from '../../runtime/slices.ts'
import { callableTools, type Pinned, type VersionReader } from '../versions/version-reader.ts'
import { type CandidateParser } from './candidate-parser.ts'
import { requireLoaded } from '../missing-entries.ts'
import { toPath } from '../../store/keys.ts'

/** The id of a prompt that was sent without one. No key in the store can have this id. */
const UNNAMED = '(unnamed)'

/** How many diagnostics one reply has: a candidate can be wrong in more places than anybody reads. */
const MAX_DIAGNOSTICS = 200

/** An entry that is checked before it is registered, in the form in which it would be stored. */
export interface LintRequest {
  readonly kind: Candidate['kind']
  readonly text: string
  /** The id that a prompt would have: partials of the same module are found by it. */
  readonly id?: string | undefined
}

/** Checks a candidate, and gives its diagnostics. @throws STORE_UNAVAILABLE before the store was first read, LINT_BUSY */
export type LintCandidate = (generation: Generation, request: LintRequest, caller: Caller) => Promise<readonly Diagnostic[]>

/** The services that candidates are linted with. */
export interface LinterOptions {
  readonly parser: CandidateParser
  readonly environs: VisibleEnvirons
  readonly versions: Pick<VersionReader, 'pinned'>
}

/** Makes the use case of lints: gives the diagnostics that the registry would have for an entry, without registering it. */
export function createLinter ({ parser, environs: all, versions }: LinterOptions): LintCandidate {
  return async function lintCandidate (generation, { kind, text, id = UNNAMED }, caller) {
    // Linked with nothing, every tool and partial would be unknown.
    requireLoaded(generation)
    const environs = visibleEnvirons(all, caller)
    const parsed = await parser.parse({ kind, id: toPath(id), text })
    const entries = parsed.prompts.map(fromPlain)
    const prompts = await linkCandidates(generation, entries, await versions.pinned(generation, entries))
    const lookup = { get: (wanted: string) => prompts.get(wanted) ?? generation.everyPrompt.get(wanted) }
    const visible = { ...generation, prompts: { keys: () => chained(prompts, generation.prompts) } }
    const registered = await callersIn(generation, prompts.values())
    const callersOf = (wanted: string) => [...prompts.keys(), ...registered(wanted)]
    const slices = createSlices()
    const diagnostics: Diagnostic[] = [...parsed.diagnostics]
    if (parsed.extension !== undefined) diagnostics.push(...missingDependences(parsed.extension, offering(generation)))
    diagnostics.push(...findToolProblems(parsed.toolUses ?? [], generation))
    // An extension is accepted though a tool that it needs is missing, so that extensions may come in any order.
    for (const { kind: brought, id: of, toolUses } of parsed.broughtUses ?? []) {
      diagnostics.push(...asWarnings(findToolProblems(toolUses, generation)).map(diagnostic => ofContributed(brought, of, diagnostic)))
    }
    for (const prompt of prompts.values()) {
      const found = [...lintPrompt(prompt, { prompts: lookup, callersOf, environs, visible }), ...beyondPatterns(prompt, generation, caller)]
      diagnostics.push(...kind === extensionKind.key ? beyondParse(prompt, found) : found)
      if (slices.isDue()) await slices.pause()
    }
    return diagnostics.slice(0, MAX_DIAGNOSTICS)
  }
}

function * chained (...maps: ReadonlyArray<ReadonlyMap<string, unknown>>): Generator<string> {
  for (const map of maps) yield * map.keys()
}

/** Links candidates. A name is searched first among the candidates, then among registered prompts, then among pinned versions. */
export async function linkCandidates (
  generation: Generation,
  entries: ReadonlyArray<Prompt['entry']>,
  pinned: Pinned = new Map()
): Promise<ReadonlyMap<string, Prompt>> {
  const candidates = new Map(entries.map(entry => [entry.id, entry]))
  // What is registered keeps its partials, also those that the caller does not see.
  const seenBy = (from: Prompt['entry']) => candidates.get(from.id) === from ? generation.prompts : generation.everyPrompt
  const linker = new Linker({ get: (id, from) => candidates.get(id) ?? seenBy(from).get(id)?.entry ?? pinned.get(id) }, callableTools(generation))
  const slices = createSlices()
  const prompts = new Map<string, Prompt>()
  for (const entry of entries) {
    prompts.set(entry.id, linker.link(entry))
    if (slices.isDue()) await slices.pause()
  }
  return prompts
}

/**
 * The partials beyond the patterns of a caller's token. The name as it is written must be within them: a name without its module may stand
 * for another prompt tomorrow, when prompts come and go, and for one that the caller must not see.
 */
function beyondPatterns ({ id, entry, texts }: Prompt, { everyPrompt }: Generation, { prompts: patterns }: Caller): Diagnostic[] {
  if (patterns === undefined) return []
  const isWithin = (name: string) => {
    const sibling = siblingOf(id, name)
    return patterns.allows(name) && (patterns.allows(sibling) || !everyPrompt.has(sibling))
  }
  return entry.compiled.texts.flatMap(({ where, references }, text) => references
    // A partial that must be linked and is not has a diagnostic already.
    .filter((reference, index) => isPartial(reference) && (isOptional(reference) || texts[text]?.links[index] !== undefined))
    .filter(({ name }) => !isWithin(withoutPin(toPath(name), everyPrompt)))
    .map(({ name, line, column }): Diagnostic => ({
      severity: 'error',
      code: 'PARTIAL_UNKNOWN',
      message: `partial "${name}" is not one that this token may include`,
      ...where,
      line,
      column,
      hint: 'write its full id, one that the patterns of the token allow'
    })))
}

/** The name of a prompt without a version or label behind it. */
function withoutPin (name: string, prompts: Generation['everyPrompt']): string {
  return prompts.has(name) ? name : readReference(name)?.id ?? name
}

/** An extension's own diagnostics have those of its prompts' parse already. */
function beyondParse ({ id, entry }: Prompt, found: readonly Diagnostic[]): Diagnostic[] {
  return found.filter(diagnostic => !entry.diagnostics.includes(diagnostic)).map(diagnostic => ofContributed(PROMPTS, id, diagnostic))
}

function offering ({ extensions }: Generation): ExtensionDefinition[] {
  return [...extensions.values()].map(({ definition }) => definition).filter(isOffered)
}
