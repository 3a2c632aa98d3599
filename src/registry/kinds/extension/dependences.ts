import semver from 'semver'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { type ExtensionDefinition } from './extension-definition.ts'

/** Whether an extension can be used by this service, so that its prompts and other entries are offered to callers. */
export function isOffered (definition: ExtensionDefinition): boolean {
  return definition.isKnownType && definition.incompatibility === undefined
}

/**
 * The dependences of an extension on other extensions that are not registered, or not in a fitting version.
 * @param present the registered extensions whose entries callers can use
 */
export function missingDependences (definition: ExtensionDefinition, present: readonly ExtensionDefinition[]): Diagnostic[] {
  const missing = definition.dependences.filter(wanted => !present.some(({ name, version }) => name === wanted.name && admits(wanted.version, version)))
  return missing.map(wanted => {
    const versions = present.flatMap(({ name, version = '' }) => name === wanted.name ? [version] : [])
    const instead = versions.length === 0 ? 'which is not registered, or cannot be used' : `and what is registered is ${versions.join(', ')}`
    return {
      severity: wanted.failStrategy === 'abort' ? 'error' : 'warning',
      code: 'DEPENDENCE_MISSING',
      message: `it depends on ${wanted.name}${wanted.version === undefined ? '' : ` ${wanted.version}`}, ${instead}`
    }
  })
}

function admits (range: string | undefined, version: string | undefined): boolean {
  if (range === undefined || version === undefined) return true
  return semver.valid(version) === null || semver.validRange(range) === null || semver.satisfies(version, range)
}
