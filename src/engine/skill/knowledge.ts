import { isJsonObject, type Json } from '../../base/json.ts'

/**
 * The paths of the knowledge file: a text on a target (the machine where commands run) that tells models about it. The first path that
 * exists counts. The spelling comes from existing clients and stays.
 */
export const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

/** The text of the target's knowledge file, from the result of reading it; empty when the target has none. */
export function knowledgeOf (result: Json): string {
  const files = isJsonObject(result) && Array.isArray(result['files']) ? (result['files'] as readonly Json[]).filter(isJsonObject) : []
  for (const path of KNOWLEDGE_PATHS) {
    const text = files.find(file => file['path'] === path)?.['text']
    if (text !== undefined) return typeof text === 'string' ? text.trim() : ''
  }
  return ''
}
