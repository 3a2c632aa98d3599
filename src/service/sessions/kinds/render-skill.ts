import { stringifyJson } from '../../../base/json.ts'
import { type SkillDefinition } from '../../../registry/kinds/skill/skill-kind.ts'
import { templateParser } from '../../../registry/kinds/prompt/template-entry.ts'
import { uncachedTemplates } from '../../../registry/entries/template-cache.ts'
import { createSlices } from '../../../runtime/slices.ts'
import { type Language } from '../../../template/language.ts'
import { linkCandidates } from '../../lint/lint-candidate.ts'
import { type RenderPrompt } from '../../render/render-prompt.ts'
import { type Starter } from './session-kind.ts'

/** Gives the body of a skill (its instructions to the model) as text. A body that is declared a template is rendered. */
export type RenderSkill = (
  skill: Pick<SkillDefinition, 'id' | 'body' | 'isTemplate'>,
  variables: Readonly<Record<string, string>>,
  starter: Omit<Starter, 'session'>
) => Promise<string>

/**
 * Makes the function that renders bodies of skills. A body is rendered like a prompt: the skill's parameters are its variables, and it may
 * use the shared variables, tools and partials that the caller may see. Errors are those of rendering a prompt.
 */
export function createSkillRenderer (languages: readonly Language[], renderPrompt: RenderPrompt): RenderSkill {
  return async function renderSkill ({ id, body, isTemplate }, variables, { generation, caller, requestId }) {
    if (!isTemplate || body.trim() === '') return body
    const entry = await templateParser('', uncachedTemplates(languages)).parse(id, stringifyJson({ userPrompt: body }), createSlices())
    const linked = { ...generation, prompts: await linkCandidates(generation, [entry]) }
    const { messages } = await renderPrompt({ generation: linked, caller, id, variables, requestId })
    return messages[0]?.content as string
  }
}
