import { type Language } from './language.ts'

/** What the service itself tells a model, beside the words of a definition. */
export type Instruction = 'select' | 'choice' | 'repairClassify' | 'repairSelect' | 'repairAnswer'

export const INSTRUCTIONS: Readonly<Record<Language, Readonly<Record<Instruction, string>>>> = {
  en: {
    select: 'Call the one function that answers the user\'s last message. Do not answer in words. Leave out a parameter that the user has not told. If no function fits, call none.',
    choice: 'Answer with JSON only: {"tool": "<name>", "arguments": {…}}, or {"tool": null} when none fits. The tools: ',
    repairClassify: 'Answer with exactly one word: yes or no.',
    repairSelect: 'Your answer cannot be read. Call one function, with its arguments as a JSON object, or none. What is wrong: ',
    repairAnswer: 'Your answer cannot be read. Call a function, or answer in words. What is wrong: '
  },
  ru: {
    select: 'Вызови одну функцию, которая отвечает на последнее сообщение пользователя. Не отвечай словами. Не указывай параметр, которого пользователь не назвал. Если ни одна функция не подходит, не вызывай ничего.',
    choice: 'Ответь только JSON: {"tool": "<имя>", "arguments": {…}}, или {"tool": null}, если ничего не подходит. Инструменты: ',
    repairClassify: 'Ответь ровно одним словом: да или нет.',
    repairSelect: 'Твой ответ не читается. Вызови одну функцию с аргументами в виде объекта JSON или ни одной. Что не так: ',
    repairAnswer: 'Твой ответ не читается. Вызови функцию или ответь словами. Что не так: '
  }
}
