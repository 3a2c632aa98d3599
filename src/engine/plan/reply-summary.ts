import { renderText } from '../shared/render-text.ts'
import { type Language } from '../texts/language.ts'
import { PLAN_TEXTS } from '../texts/plan-texts.ts'
import { type PlanReply } from './parse-plan.ts'

/** The number of actions, or of fields of the memory, that a summary names. */
const MAX_NAMED = 10

/** The summary of the model's answer for the user: the model's own, or else a list of the actions, or of the memory's fields, that the answer proposes. */
export function summaryOf ({ summary, actions, patch }: PlanReply, language: Language): string {
  if (summary.trim() !== '') return summary
  const texts = PLAN_TEXTS[language]
  if (actions.length === 0) return renderText(texts.planMemory, { list: Object.keys(patch).slice(0, MAX_NAMED).join(', ') })
  const listed = actions.slice(0, MAX_NAMED).map(({ kind, path }) => `${kind} ${path}`).join(', ')
  const list = actions.length > MAX_NAMED ? renderText(texts.planMore, { list: listed, n: actions.length - MAX_NAMED }) : listed
  return renderText(texts.planActions, { list })
}
