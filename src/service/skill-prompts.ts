import { readFile } from 'node:fs/promises'
import { isJsonObject, type Json } from '../base/json.ts'

/** What the system prompts of skills begin with, by protocol. */
export interface SkillPrompts {
  readonly text: string
  readonly tools: string
}

/**
 * Reads what the system prompts of skills begin with. It is read whenever a skill starts: the operator may edit it.
 * @throws Error when the file lacks one of the texts
 */
export async function readSkillPrompts (): Promise<SkillPrompts> {
  // One folder below the root in src, and in what is built of it: scripts/build.js keeps that depth.
  const prompts = JSON.parse(await readFile(new URL('../../prompts.json', import.meta.url), 'utf8')) as Json
  const textOf = (name: string): string => {
    const text = isJsonObject(prompts) ? prompts[name] : undefined
    if (typeof text !== 'string') throw new Error(`prompts.json has no text ${name}`)
    return text
  }
  return { text: textOf('SKILL_SYSTEM_PROMPT_WITH_ASK'), tools: textOf('SKILL_SYSTEM_PROMPT_TOOLS') }
}
