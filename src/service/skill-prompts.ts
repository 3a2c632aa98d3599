import { readFile } from 'node:fs/promises'
import { isJsonObject, type Json } from '../base/json.ts'

/** The texts that the system prompts of skills begin with, one for each protocol. */
export interface SkillPrompts {
  readonly text: string
  readonly tools: string
}

/**
 * Reads the texts that the system prompts of skills begin with. They are read whenever a skill starts, since the operator may edit the file.
 * @throws Error when the file lacks one of the texts
 */
export async function readSkillPrompts (): Promise<SkillPrompts> {
  // The path is relative to this file, in src and in the build alike: scripts/build.js keeps the depth of folders.
  const prompts = JSON.parse(await readFile(new URL('../../prompts.json', import.meta.url), 'utf8')) as Json
  const textOf = (name: string): string => {
    const text = isJsonObject(prompts) ? prompts[name] : undefined
    if (typeof text !== 'string') throw new Error(`prompts.json has no text ${name}`)
    return text
  }
  return { text: textOf('SKILL_SYSTEM_PROMPT_WITH_ASK'), tools: textOf('SKILL_SYSTEM_PROMPT_TOOLS') }
}
