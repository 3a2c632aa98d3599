import { isJsonObject, type Json } from '../../base/json.ts'

/** Where the target's own file may be; the first that is there counts. The spelling is the protocol's. */
export const KNOWLEDGE_PATHS = ['./.kosmos-panel/ai_system_promt.md', '~/.config/kosmos-panel/ai_system_promt.md'] as const

/** What the target's own file says, of what was read there; empty without one. */
export function knowledgeOf (result: Json): string {
  const files = isJsonObject(result) && Array.isArray(result['files']) ? (result['files'] as readonly Json[]).filter(isJsonObject) : []
  for (const path of KNOWLEDGE_PATHS) {
    const text = files.find(file => file['path'] === path)?.['text']
    if (text !== undefined) return typeof text === 'string' ? text.trim() : ''
  }
  return ''
}
