import { isJsonObject, type Json } from '../../base/json.ts'

/** The paths of a target's file of knowledge for models; the first that exists counts. The spelling is the protocol's. */
export const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

/** The text of the target's file of knowledge, from the result of a read; empty where the target has none. */
export function knowledgeOf (result: Json): string {
  const files = isJsonObject(result) && Array.isArray(result['files']) ? (result['files'] as readonly Json[]).filter(isJsonObject) : []
  for (const path of KNOWLEDGE_PATHS) {
    const text = files.find(file => file['path'] === path)?.['text']
    if (text !== undefined) return typeof text === 'string' ? text.trim() : ''
  }
  return ''
}
