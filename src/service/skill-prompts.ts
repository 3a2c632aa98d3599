import { readFile } from 'node:fs/promises'
import { type Json, ownField, stringifyJson } from '../base/json.ts'
import { uncachedTemplates } from '../registry/entries/template-cache.ts'
import { templateParser } from '../registry/kinds/prompt-kind.ts'
import type { SkillDefinition } from '../registry/kinds/skill-kind.ts'
import { createSlices } from '../runtime/event-loop.ts'
import type { Language } from '../template/language.ts'
import { findPrompt } from './choose-prompt.ts'
import { linkCandidates } from './lint/lint-candidate.ts'
import type { RenderPrompt } from './render-prompt.ts'
import type { Starter } from './sessions/session-kind.ts'

export interface SkillPrompts {
  readonly text: string
  readonly tools: string
}

/** Read whenever a skill starts, since the operator can edit `prompts.json`. @throws Error when the file lacks one of the texts */
export async function readSkillPrompts (): Promise<SkillPrompts> {
  // Relative to this file, in src as in the build: scripts/build.js keeps the depth of folders.
  const prompts = JSON.parse(await readFile(new URL('../../prompts.json', import.meta.url), 'utf8')) as Json
  const textOf = (name: string): string => {
    const text = ownField(prompts, name)
    if (typeof text !== 'string') throw new Error(`prompts.json has no text ${name}`)
    return text
  }
  return { text: textOf('SKILL_SYSTEM_PROMPT_WITH_ASK'), tools: textOf('SKILL_SYSTEM_PROMPT_TOOLS') }
}

export type RenderSkill = (
  skill: Pick<SkillDefinition, 'id' | 'body' | 'isTemplate'>,
  variables: Readonly<Record<string, string>>,
  starter: Omit<Starter, 'session'>
) => Promise<string>

/** Rendered like a prompt, with its errors: parameters are variables; what the caller may see is usable. */
export function createSkillRenderer (languages: readonly Language[], renderPrompt: RenderPrompt): RenderSkill {
  return async function renderSkill ({ id, body, isTemplate }, variables, { generation, caller, requestId }) {
    if (!isTemplate || body.trim() === '') return body
    const entry = await templateParser('', uncachedTemplates(languages)).parse(id, stringifyJson({ userPrompt: body }), createSlices())
    const linked = { ...generation, prompts: await linkCandidates(generation, [entry]) }
    const chosen = { prompt: findPrompt(linked, id), version: undefined, label: undefined }
    const { messages } = await renderPrompt({ generation: linked, caller, id, chosen, variables, requestId })
    return messages[0]?.content as string
  }
}
