import { readFile } from 'node:fs/promises'
import { isJsonObject, type Json } from '../base/json.ts'

/** The fixed beginnings of the system prompts for skills, one for each protocol (plain text, or calls of tools). */
export interface SkillPrompts {
  readonly text: string
  readonly tools: string
}

/**
 * Reads the fixed beginnings of the system prompts for skills from `prompts.json`. That happens whenever a skill starts, since the operator can edit the file.
 * @throws Error when the file lacks one of the texts
 */
export async function readSkillPrompts (): Promise<SkillPrompts> {
  // The path is relative to this file, in src as in the build: scripts/build.js keeps the depth of folders.
  const prompts = JSON.parse(await readFile(new URL('../../prompts.json', import.meta.url), 'utf8')) as Json
  const textOf = (name: string): string => {
    const text = isJsonObject(prompts) ? prompts[name] : undefined
    if (typeof text !== 'string') throw new Error(`prompts.json has no text ${name}`)
    return text
  }
  return { text: textOf('SKILL_SYSTEM_PROMPT_WITH_ASK'), tools: textOf('SKILL_SYSTEM_PROMPT_TOOLS') }
}
