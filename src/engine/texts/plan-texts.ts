import { type Language } from './language.ts'

/** The name of a text that a plan (a session that changes files) shows its user. The texts are Handlebars templates. */
export type PlanText =
  | 'planDiff' | 'planRound' | 'planGivenUp' | 'planDropped' | 'planBase' | 'planActions' | 'planMore'
  | 'planMemory' | 'committed' | 'commitLeavesOut' | 'commitStays' | 'planNotRemembered'

export const PLAN_TEXTS: Readonly<Record<Language, Readonly<Record<PlanText, string>>>> = {
  en: {
    planDiff: 'This is the change. ok writes it, reject drops it, other words change it.',
    planRound: '{{check}} failed; attempt {{n}} of {{rounds}}.',
    planGivenUp: '{{check}} still fails. The change was taken back.',
    planDropped: 'Dropped. undo takes back what was applied before.',
    planBase: '{{path}} has changed; reading it again.',
    planActions: 'Changes: {{list}}.',
    planMore: '{{list}} and {{n}} more',
    planMemory: 'Memory: {{list}}.',
    planNotRemembered: 'Not remembered: {{list}}.',
    committed: 'Committed {{hash}}.',
    commitLeavesOut: 'Not in the commit: {{list}}.',
    commitStays: 'The commit {{hash}} stays; git revert takes it back.'
  },
  ru: {
    planDiff: 'Вот изменения. ok — записать, reject — отказаться, иначе — уточнить.',
    planRound: '{{check}} не прошла; попытка {{n}} из {{rounds}}.',
    planGivenUp: '{{check}} не проходит. Изменения отменены.',
    planDropped: 'Отменено. undo отменит применённое раньше.',
    planBase: '{{path}} изменился; читаю снова.',
    planActions: 'Изменения: {{list}}.',
    planMore: '{{list}} и ещё {{n}}',
    planMemory: 'Память: {{list}}.',
    planNotRemembered: 'Не запомнено: {{list}}.',
    committed: 'Коммит {{hash}}.',
    commitLeavesOut: 'Не вошло в коммит: {{list}}.',
    commitStays: 'Коммит {{hash}} остаётся; его отменит git revert.'
  }
}
