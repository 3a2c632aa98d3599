import { type Language } from './language.ts'

/** The name of a text that an agent shows its user. An agent's definition can replace each of these texts. */
export type AgentText =
  | 'farewell' | 'cleared' | 'classifying' | 'modelFailed' | 'unreadable' | 'modelSilent' | 'modelUnclear' | 'irrelevant' | 'relevant'
  | 'selecting' | 'noTool' | 'selected' | 'validating' | 'unknownTool' | 'executing' | 'toolFailed' | 'toolUnknown' | 'noAnswer' | 'budgetUsed' | 'handedOver'

/** The default texts that agents show their users, by language. The Russian texts must never change: callers of examples/agents/helper.yaml compare them. */
export const AGENT_TEXTS: Readonly<Record<Language, Readonly<Record<AgentText, string>>>> = {
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
