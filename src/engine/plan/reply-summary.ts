import { renderText } from '../shared/render-text.ts'
import { type Language } from '../texts/language.ts'
import { PLAN_TEXTS } from '../texts/plan-texts.ts'
import { type PlanReply } from './parse-plan.ts'

/** The most changes of files, or preferences, that a summary names. */
const MAX_NAMED = 10

/** What the user is told of the model's answer: the summary in the answer. If it has none, a list of the changes or preferences in the answer. */
export function summaryOf ({ summary, actions, patch }: PlanReply, language: Language): string {
  if (summary.trim() !== '') return summary
  const texts = PLAN_TEXTS[language]
  if (actions.length === 0) return renderText(texts.planMemory, { list: Object.keys(patch).slice(0, MAX_NAMED).join(', ') })
  const listed = actions.slice(0, MAX_NAMED).map(({ kind, path }) => `${kind} ${path}`).join(', ')
  const list = actions.length > MAX_NAMED ? renderText(texts.planMore, { list: listed, n: actions.length - MAX_NAMED }) : listed
  return renderText(texts.planActions, { list })
}
