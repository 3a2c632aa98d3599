const CONSENT: ReadonlySet<string> = new Set(['ok', 'okay', 'ок', 'yes', 'y', 'да', 'apply', 'go', 'применяй', 'давай', 'lgtm'])

/** Punctuation does not count; "yes, but…" is no consent. */
export function isConsent (text: string): boolean {
  const [word, another] = text.toLowerCase().matchAll(/[^\p{P}\p{S}\s]+/gu)
  return another === undefined && CONSENT.has(word?.[0] ?? '')
}

/** A definition can replace each text. */
export type AgentText =
  | 'farewell' | 'cleared' | 'classifying' | 'modelFailed' | 'unreadable' | 'modelSilent' | 'modelUnclear' | 'irrelevant' | 'relevant'
  | 'selecting' | 'noTool' | 'selected' | 'validating' | 'unknownTool' | 'executing' | 'toolFailed' | 'toolUnknown' | 'noAnswer' | 'budgetUsed' | 'handedOver'

/** The Russian texts must never change: callers of examples/agents/helper.yaml compare them. */
export const AGENT_TEXTS: Readonly<Record<Locale, Readonly<Record<AgentText, string>>>> = {
  en: {
    farewell: 'Goodbye!',
    cleared: 'I have forgotten what was said.',
    classifying: 'Reading your question..',
    modelFailed: 'The model cannot be reached. Goodbye.',
    unreadable: 'The model\'s answer makes no sense. Goodbye.',
    modelSilent: 'The model does not answer. /retry asks again, or say something else.',
    modelUnclear: 'I did not understand the model. /retry asks again, or say it in other words.',
    irrelevant: 'I cannot help with that.',
    relevant: 'That is for me.',
    selecting: 'Choosing a tool..',
    noTool: 'I do not know how to find that out. Could you say it in other words?',
    selected: 'Using {{name}}: {{params}}',
    validating: 'Checking what I need..',
    unknownTool: 'I do not know how to find that out. Could you say it in other words?',
    executing: 'Working on it..',
    toolFailed: '{{name}} failed. Shall we try again?',
    toolUnknown: '{{name}} was interrupted. It may have done its work: please check before you ask again.',
    noAnswer: 'I have no answer. Could you say it in other words?',
    budgetUsed: 'This dialogue has used up its budget.',
    handedOver: 'Over to {{name}}.'
  },
  ru: {
    farewell: 'До свидания!',
    cleared: 'История сообщений очищена.',
    classifying: 'Анализирую релевантность запроса..',
    modelFailed: 'Ошибка при запросе LLM, завершаюсь..',
    unreadable: 'Ошибка при разборе ответа LLM, завершаюсь..',
    modelSilent: 'Модель не отвечает. /retry — повторить, или новый запрос.',
    modelUnclear: 'Ответ модели непонятен. /retry — повторить, или скажите иначе.',
    irrelevant: 'Запрос не связан с функционалом агента.',
    relevant: 'Запрос релевантен, думаю..',
    selecting: 'Выбираю подходящий инструмент..',
    noTool: 'Не удалось определить инструмент. Просьба переформулировать запрос.',
    selected: 'Выбран инструмент {{name}} с параметрами {{params}}',
    validating: 'Валидирую инструмент..',
    unknownTool: 'Не удалось провалидировать запрос. Просьба переформулировать.',
    executing: 'Выполняю инструмент..',
    toolFailed: 'Не удалось выполнить инструмент. Попробуем снова?',
    toolUnknown: 'Вызов {{name}} прерван. Возможно, он выполнен: проверьте, прежде чем повторять.',
    noAnswer: 'Не удалось получить ответ. Просьба переформулировать запрос.',
    budgetUsed: 'Бюджет диалога исчерпан.',
    handedOver: 'Передаю: {{name}}.'
  }
}

/** The languages that the service's own texts exist in. */
export type Locale = 'en' | 'ru'

/** Handlebars templates. */
export type PlanText =
  | 'planDiff' | 'planRound' | 'planGivenUp' | 'planDropped' | 'planBase' | 'planActions' | 'planMore'
  | 'planMemory' | 'committed' | 'commitLeavesOut' | 'commitStays' | 'planNotRemembered'

export const PLAN_TEXTS: Readonly<Record<Locale, Readonly<Record<PlanText, string>>>> = {
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

/** `isInterrupted`: nobody knows how it ended. `isBusy`: not run, as the terminal's input line was not empty for too long. */
export type WhyAsked = 'isInterrupted' | 'isBusy'

export const ABOUT_COMMAND: Readonly<Record<WhyAsked, Readonly<Record<Locale, (command: string) => string>>>> = {
  isInterrupted: {
    en: command =>
      `The command "${command}" was interrupted. Nobody knows whether it was done. Answer "again" to run it again, "skip" to do without it, or with what it printed.`,
    ru: command =>
      `Команда "${command}" прервана. Неизвестно, выполнена ли она. Ответьте "снова", чтобы выполнить её ещё раз, "пропустить", чтобы обойтись без неё, или напишите, что она вывела.`
  },
  isBusy: {
    en: command =>
      `The command "${command}" was not run: the terminal was busy for too long. Answer "again" to try again, "without" to run it and all further ones without the terminal, "skip" to leave it out, or tell the model what to do instead.`,
    ru: command =>
      `Команда "${command}" не выполнена: терминал слишком долго был занят. Ответьте "снова", чтобы попробовать ещё раз, "без терминала", чтобы выполнять её и следующие без терминала, "пропустить", чтобы обойтись без неё, или напишите модели, что делать вместо неё.`
  }
}

export const TERMINAL_TEXTS: Readonly<Record<Locale, Readonly<Record<'terminalBusy' | 'terminalGone', string>>>> = {
  en: {
    terminalBusy: 'The command waits until your line in the terminal is empty.',
    terminalGone: 'The terminal is gone; commands run without it.'
  },
  ru: {
    terminalBusy: 'Команда ждёт, пока ваша строка в терминале не опустеет.',
    terminalGone: 'Терминал закрыт; команды выполняются без него.'
  }
}

const TEXTS: Readonly<Record<Locale, { readonly cut: (reason: string) => string, readonly refused: (words: string) => string }>> = {
  en: { cut: reason => `…[the answer was cut: ${reason}]`, refused: words => `The model refuses: ${words}` },
  ru: { cut: reason => `…[ответ оборван: ${reason}]`, refused: words => `Модель отказывается: ${words}` }
}

/** @param reason the answer's `finish_reason` */
export function cutMark (language: Locale, reason = 'length'): string {
  return TEXTS[language].cut(reason)
}

export function refusedText (language: Locale, words: string): string {
  return TEXTS[language].refused(words)
}

/** Nothing of a cut answer is carried out, since it may lack what matters most. */
export function cutProblem (reason = 'length'): string {
  return `it was cut (${reason}) and nothing of it was done; answer with less: fewer words, fewer calls at a time, shorter arguments`
}
