import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons } from '../../access/views.ts'
import { isVisibleKey } from '../../access/rights.ts'
import { asWarnings, type Diagnostic } from '../../registry/diagnostic.ts'
import { type EntryProblem } from '../../registry/entries/entry-table.ts'
import { type Generation, type Prompt, type PromptRelease } from '../../registry/generation.ts'
import { callersIn, type CallersOf, lintPrompt } from '../../registry/lint-prompt.ts'
import { findToolProblems } from '../../registry/unknown-names.ts'
import { isDefinitionKind } from '../../registry/kinds/entry-kind.ts'
import { promptKind } from '../../registry/kinds/prompt-kind.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { type Registry } from '../../registry/registry.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { keyToPath, kindPrefix } from '../../store/store.ts'

const MAX_DIAGNOSTICS = 50

export interface EntryNotice {
  /** `entries/` and the key, or a kind and the id, such as `prompts/review.short`. */
  readonly cursor: string
  readonly key?: string
  readonly id?: string
  readonly state: string
  /** The recorded version that is served, of a prompt whose stored text is broken. */
  readonly version?: number | undefined
  readonly diagnostics: readonly Diagnostic[]
}

export type ListNotices = (request: {
  readonly generation: Generation
  readonly caller: Caller
  /** The cursor of the last entry on the page before; `''` for the first page. */
  readonly after: string
  readonly limit: number
}) => Promise<readonly EntryNotice[]>

interface Subject extends Omit<EntryNotice, 'diagnostics'> {
  find (): readonly Diagnostic[]
}

/** Works in slices, between which other requests are served, as checking all prompts takes long. */
export function createNoticeList (registry: Registry, keyPrefix: string): ListNotices {
  return async function listNotices ({ generation, caller, after, limit }) {
    const slices = createSlices()
    const callersOf = await callersIn(generation, generation.prompts.values())
    const notices: EntryNotice[] = []
    for (const subject of subjectsAfter(after, sectionsOf(generation, caller, registry, keyPrefix, callersOf))) {
      const { find, ...place } = subject
      const found = find()
      if (found.length > 0) notices.push({ ...place, diagnostics: found.slice(0, MAX_DIAGNOSTICS) })
      if (notices.length === limit) break
      if (slices.isDue()) await slices.pause()
    }
    return notices
  }
}

type Section = readonly [name: string, subjects: Iterable<Subject>]

/** The sections stand in an order of their own, so that cursors are compared within one. */
function * subjectsAfter (after: string, sections: readonly Section[]): Generator<Subject> {
  const begun = sections.findIndex(([name]) => after.startsWith(`${name}/`))
  for (const [index, [, subjects]] of sections.entries()) {
    if (index < begun) continue
    for (const subject of subjects) {
      if (index > begun || subject.cursor > after) yield subject
    }
  }
}

function sectionsOf (generation: Generation, caller: Caller, registry: Registry, keyPrefix: string, callersOf: CallersOf): readonly Section[] {
  const { extensions, prompts, everyPrompt, releases, tools } = generation
  const environs = visibleEnvirons(registry.environs, caller)
  const promptPrefix = kindPrefix(keyPrefix, promptKind.key)
  const latestOf = (key: string) => key.startsWith(promptPrefix) ? releases.get(keyToPath(key, promptPrefix))?.latest : undefined
  // `a.b` hides a value of `a` that is no object (VALUE_SHADOWED): untold to a caller who sees no variable below `a`.
  const isKept = ({ key, diagnostics }: EntryProblem) =>
    diagnostics[0]?.code === 'VALUE_SHADOWED' && !environs.hasBelow(keyToPath(key, registry.environs.prefix))
  const visible = registry.problems().filter(problem => isVisibleKey(problem.key, { keyPrefix, kinds: registry.kinds }, generation, caller) && !isKept(problem))
  return [
    ['entries', visible.map(problem => ofProblem(problem, latestOf(problem.key))).sort(byCursor)],
    ['extensions', each(extensions, ({ id, state, diagnostics }) => ({ cursor: `extensions/${id}`, id, state, find: () => diagnostics }))],
    ['prompts', each(prompts, prompt => ofPrompt(prompt, () => lintPrompt(prompt, { prompts: everyPrompt, callersOf, environs, visible: generation })))],
    ['releases', ofReleases(releases.values())],
    ['tools', each(tools, ({ id, diagnostics }) => ({ cursor: `tools/${id}`, id, state: 'valid', find: diagnostics }))],
    ...registry.kinds.filter(isDefinitionKind).map((kind): Section => [
      kind.name,
      each(definitionsOf(generation, kind), ({ id, diagnostics, toolUses = [] }) => (
        { cursor: `${kind.name}/${id}`, id, state: 'valid', find: () => [...diagnostics, ...asWarnings(findToolProblems(toolUses, generation))] }
      ))
    ])
  ]
}

function ofProblem ({ key, diagnostics, servesLastGood }: EntryProblem, version: number | undefined): Subject {
  const isFatal = diagnostics.some(diagnostic => diagnostic.severity === 'error')
  const state = servesLastGood ? 'stale' : isFatal ? 'rejected' : 'noticed'
  return { cursor: `entries/${key}`, key, state, version: servesLastGood ? version : undefined, find: () => diagnostics }
}

/** Labels of versions that cannot run; the releases are looked at only when a page reaches this section. */
function * ofReleases (releases: Iterable<PromptRelease>): Generator<Subject> {
  const subjects: Subject[] = []
  for (const { id: prompt, labels } of releases) {
    for (const [label, versions] of labels) {
      const broken = versions.find(version => version.prompt.state !== 'valid')?.prompt
      const id = `${prompt}@${label}`
      if (broken !== undefined) subjects.push({ cursor: `releases/${id}`, id, state: broken.state, find: () => broken.diagnostics })
    }
  }
  yield * subjects.sort(byCursor)
}

function ofPrompt ({ id, state }: Prompt, find: () => readonly Diagnostic[]): Subject {
  return { cursor: `prompts/${id}`, id, state, find }
}

function byCursor (a: Subject, b: Subject): number {
  return a.cursor < b.cursor ? -1 : 1
}

function * each<T> (things: ReadonlyMap<string, T>, subjectOf: (thing: T) => Subject): Generator<Subject> {
  for (const thing of sorted(things)) yield subjectOf(thing)
}

const orders = new WeakMap<ReadonlyMap<string, unknown>, readonly unknown[]>()

/** The order is kept for the next call, since sorting many entries takes milliseconds. */
function sorted<T> (things: ReadonlyMap<string, T>): readonly T[] {
  const known = orders.get(things) ?? [...things.keys()].sort().map(id => things.get(id))
  orders.set(things, known)
  return known as readonly T[]
}
