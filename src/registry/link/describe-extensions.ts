import { isOffered, missingDependences } from '../kinds/extension/dependences.ts'
import { type Diagnostic, shadowed } from '../diagnostic/diagnostic.ts'
import { type EntryTable } from '../entries/entry-table.ts'
import { type ExtensionDefinition } from '../kinds/extension/extension-definition.ts'
import { type ExtensionEntry } from '../kinds/extension/extension-entry.ts'
import { type ContestedKind } from './key-conflicts.ts'
import { type Extension } from '../generation/generation.ts'
import { type Slices } from '../../runtime/slices.ts'

/**
 * Describes every extension of a generation with the effects that other entries have on it: dependences that are missing, and entries of the
 * extension whose id another entry has got.
 */
export async function describeExtensions (
  table: EntryTable<ExtensionEntry>,
  contested: readonly ContestedKind[],
  slices: Slices
): Promise<Map<string, Extension>> {
  const shadowedBy = shadowedByKey(contested)
  const present = new Map<string, ExtensionDefinition[]>()
  const entries = [...table.keys()].sort().flatMap(key => {
    const entry = table.entry(key)
    return entry === undefined ? [] : [[key, entry] as const]
  })
  for (const [, { definition }] of entries) {
    if (isOffered(definition)) present.set(definition.name, [...present.get(definition.name) ?? [], definition])
  }
  const keys = new Map<string, string>()
  const extensions = new Map<string, Extension>()
  for (const [key, entry] of entries) {
    const { id, definition } = entry
    const missing = missingDependences(definition, definition.dependences.flatMap(({ name }) => present.get(name) ?? []))
    const isDegraded = missing.some(diagnostic => diagnostic.severity === 'error')
    const hidden = keys.get(id)
    keys.set(id, key)
    extensions.set(id, {
      id,
      definition,
      state: stateOf(definition, isDegraded),
      diagnostics: [...entry.diagnostics, ...missing, ...shadowedBy.get(key) ?? [], ...hidden === undefined ? [] : [hides(key, hidden)]]
    })
    if (slices.isDue()) await slices.pause()
  }
  return extensions
}

function shadowedByKey (contested: readonly ContestedKind[]): ReadonlyMap<string, readonly Diagnostic[]> {
  const byKey = new Map<string, Diagnostic[]>()
  for (const { claims, words } of contested) {
    for (const [key, { id, origin }, winner] of claims.shadowed()) {
      if (origin !== 'extension') continue
      const by = winner.offer.origin === 'direct' ? `a ${words.direct} of that id` : winner.key === key ? 'the one before it' : 'another extension of that name'
      byKey.set(key, [...byKey.get(key) ?? [], shadowed(words, id, by)])
    }
  }
  return byKey
}

/** The warning that two keys of extensions have one id, because they differ only in `.` and `:`. */
function hides (key: string, hidden: string): Diagnostic {
  return { severity: 'warning', code: 'KEY_TAKEN', message: `${hidden} has the same id as ${key}, and is not listed` }
}

function stateOf (definition: ExtensionDefinition, isDegraded: boolean): Extension['state'] {
  if (definition.incompatibility !== undefined) return 'incompatible'
  if (!definition.isKnownType) return 'inactive'
  return isDegraded ? 'degraded' : 'active'
}
