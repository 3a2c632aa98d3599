import type { Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/views.ts'
import { lintBusy } from '../../base/errors.ts'
import { asWarnings, type Diagnostic, ofContributed } from '../../registry/diagnostic.ts'
import type { Generation, Prompt } from '../../registry/generation.ts'
import { type ExtensionDefinition, extensionKind, isOffered, missingDependences, PROMPTS } from '../../registry/kinds/extension-kind.ts'
import { Linker } from '../../registry/link/link-prompts.ts'
import { isOptional, isPartial, readReference, siblingOf } from '../../registry/link/references.ts'
import { callersIn, lintPrompt } from '../../registry/lint-prompt.ts'
import { type Candidate, fromPlain, type ParsedCandidate, tooComplex } from '../../registry/parse-candidate.ts'
import { findToolProblems } from '../../registry/unknown-names.ts'
import { createParserProcess } from '../../runtime/parser-process.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { toPath } from '../../store/store.ts'
import { requireLoaded } from '../choose-prompt.ts'
import { type Pinned, type VersionReader } from '../version-reader.ts'

/** No key in the store can have this id. */
const UNNAMED = '(unnamed)'

const MAX_DIAGNOSTICS = 200

export interface LintRequest {
  readonly kind: Candidate['kind']
  readonly text: string
  /** A template may name partials of its own module (the first segment) without it. */
  readonly id?: string | undefined
}

/** Checks an entry without registering it. @throws STORE_UNAVAILABLE before the store was first read, LINT_BUSY */
export type LintCandidate = (generation: Generation, request: LintRequest, caller: Caller) => Promise<readonly Diagnostic[]>

export function createLinter (parser: CandidateParser, all: VisibleEnvirons, versions: VersionReader): LintCandidate {
  return async function lintCandidate (generation, { kind, text, id = UNNAMED }, caller) {
    // Before the store was read every tool and partial would be reported as unknown.
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
    // Only a warning, so that an extension and the tools that it needs may be published in any order.
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

/** Partials are searched among the checked prompts, then registered ones, then `pinned`: versions named by number or label. */
export async function linkCandidates (
  generation: Generation,
  entries: ReadonlyArray<Prompt['entry']>,
  pinned: Pinned = new Map()
): Promise<ReadonlyMap<string, Prompt>> {
  const candidates = new Map(entries.map(entry => [entry.id, entry]))
  const { prompts: seen, names, functions } = generation
  // A registered prompt keeps all its partials, also those that are hidden from the caller.
  const isHidden = (name: string, from: Prompt['entry']) => candidates.get(from.id) === from && names.owners.has(name) && !seen.has(name)
  const linker = new Linker((name, from) => candidates.get(name) ?? (isHidden(name, from) ? undefined : names.find(name)) ?? pinned.get(name), functions)
  const slices = createSlices()
  const prompts = new Map<string, Prompt>()
  for (const entry of entries) {
    prompts.set(entry.id, linker.link(entry))
    if (slices.isDue()) await slices.pause()
  }
  return prompts
}

/** The token must allow the name as written: a short name can later mean another prompt, which the caller must not see. */
function beyondPatterns ({ id, entry, texts }: Prompt, { everyPrompt }: Generation, { prompts: patterns }: Caller): Diagnostic[] {
  if (patterns === undefined) return []
  const isWithin = (name: string) => {
    const sibling = siblingOf(id, name)
    return patterns.allows(name) && (patterns.allows(sibling) || !everyPrompt.has(sibling))
  }
  return entry.compiled.texts.flatMap(({ where, references }, text) => references
    // A required partial that does not exist has a diagnostic already.
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

function withoutPin (name: string, prompts: Generation['everyPrompt']): string {
  return prompts.has(name) ? name : readReference(name)?.id ?? name
}

function beyondParse ({ id, entry }: Prompt, found: readonly Diagnostic[]): Diagnostic[] {
  return found.filter(diagnostic => !entry.diagnostics.includes(diagnostic)).map(diagnostic => ofContributed(PROMPTS, id, diagnostic))
}

function offering ({ extensions }: Generation): ExtensionDefinition[] {
  return [...extensions.values()].map(({ definition }) => definition).filter(isOffered)
}

/** In ms. */
const PARSE_MILLISECONDS = 5000

const MAX_WAITING = 8

export interface CandidateParser {
  /** @throws LINT_BUSY when too many candidates wait already */
  parse (candidate: Candidate): Promise<ParsedCandidate>
  close (): Promise<void>
}

/** Candidates come from strangers and may take forever to parse, so a killable process does it, one at a time. Timeout in ms. */
export function createCandidateParser (timeout = PARSE_MILLISECONDS): CandidateParser {
  const parser = createParserProcess<Candidate, ParsedCandidate>('candidate-process', import.meta.url, timeout)
  let isClosed = false
  return {
    async parse (candidate) {
      if (isClosed) throw lintBusy(0)
      if (parser.waiting() >= MAX_WAITING) throw lintBusy(MAX_WAITING)
      const parsed = await parser.ask(candidate)
      if (parsed === undefined && isClosed) throw lintBusy(0)
      return parsed ?? { diagnostics: [tooComplex('it takes too much time or memory to be parsed')], prompts: [] }
    },
    async close () {
      isClosed = true
      await parser.close()
    }
  }
}
