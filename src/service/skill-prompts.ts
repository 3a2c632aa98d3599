import { readFile } from 'node:fs/promises'
import { isJsonObject, type Json } from '../base/json.ts'

/** Of the text that every skill's system prompt begins with. */
const KEY = 'SKILL_SYSTEM_PROMPT_WITH_ASK'

/**
 * Reads what every skill's system prompt begins with. It is read whenever a skill starts: the operator may edit it.
 * @throws Error when the file has no such text
 */
export async function readSkillPrompt (): Promise<string> {
  // One folder below the root in src, and in what is built of it: scripts/build.js keeps that depth.
  const prompts = JSON.parse(await readFile(new URL('../../prompts.json', import.meta.url), 'utf8')) as Json
  const text = isJsonObject(prompts) ? prompts[KEY] : undefined
  if (typeof text !== 'string') throw new Error(`prompts.json has no text ${KEY}`)
  return text
}
