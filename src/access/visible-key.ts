import { type Generation } from '../registry/generation.ts'
import { keyToPath, kindPrefix, type Kind } from '../store/keys.ts'
import { type Caller } from './caller.ts'

/**
 * Whether a caller may know of an entry of the store by its key, be it good or not.
 * @param generation as the caller sees it
 */
export function isVisibleKey (key: string, keyPrefix: string, generation: Generation, { prompts, environs }: Pick<Caller, 'prompts' | 'environs'>): boolean {
  const path = (kind: Kind) => {
    const prefix = kindPrefix(keyPrefix, kind)
    return key.startsWith(prefix) ? keyToPath(key, prefix) : undefined
  }
  const template = path('templates')
  if (template !== undefined) return prompts?.allows(template) ?? true
  const environ = path('environs')
  if (environ !== undefined) return environs?.allows(environ) ?? true
  const extension = path('extensions')
  // What is in an extension that cannot be read is not known; its prompts may be anybody's.
  return extension === undefined || prompts === undefined || generation.extensions.has(extension)
}
