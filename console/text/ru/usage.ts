import { plural } from '../plural.ts'
import { type Same } from '../same.ts'
import { type texts as en } from '../en/usage.ts'

const n = plural('ru')

/** The Russian texts of the numbers of calls of models, and of the page with what they used and cost. */
export const texts: Same<typeof en> = {
  usageNote: 'Вызовы моделей: сколько израсходовано и во что это обошлось. Дни считаются по UTC.',
  usageTime: 'Время',
  lastDays: days => ({ 1: 'Сегодня', 7: '7 дней', 30: '30 дней' })[days] ?? `${days} дней`,
  usageBy: 'По чему',
  usageByOf: by => ({ prompt: 'Промпт', token: 'Токен', model: 'Модель', label: 'Метка', day: 'День' })[by] ?? by,
  usageUnnamed: by => ({ prompt: 'без промпта', token: 'без токена', label: 'без метки' })[by] ?? 'без имени',
  usageWithout: name => `Все, не только: ${name}`,
  usageOthers: 'все остальные вместе',
  usageOfToken: name => `Показаны только вызовы вашего токена ${name}.`,
  usageNone: 'За это время ничего не насчитано',
  usageNoneNext: 'Считается каждый вызов модели: из чатов, сессий и площадки.',
  usageSum: 'Всего',
  usageMeasure: 'Столбцы',
  measureOf: measure => ({ calls: 'Вызовы', tokens: 'Токены', cost: 'Стоимость' })[measure] ?? measure,
  mostOn: (what, most, day) => `${what} по дням. Больше всего: ${most}, ${day}.`,
  pricesOf: day => `Цены на ${day}.`,
  usageSince: 'Без Redis счёт не переживает сервис: он идёт с',
  errors: 'Ошибки',
  p95: '95 из 100 заняли',
  budgets: 'Бюджеты',
  budgetsNone: 'Оператор не задал бюджетов, которые касались бы вас.',
  budgetUsed: (used, most, unit, period) => `${used} из ${most}${unit === 'tokens' ? ' токенов' : ''} ${period === 'day' ? 'за сегодня' : 'за этот месяц'}`,
  budgetIsUsed: 'исчерпан',
  budgetNearlyUsed: 'почти исчерпан',
  budgetOf: (tokens, prompts) => [tokens && `токены: ${tokens}`, prompts && `промпты: ${prompts}`].filter(Boolean).join('; '),
  anewAt: 'начнётся заново',
  // Numbers and costs, also of versions, labels and sessions
  cost: 'Стоимость',
  costUnknown: 'стоимость неизвестна',
  costAndUnknown: (cost, calls) => `${cost} и ${calls} ${n(calls, 'вызов', 'вызова', 'вызовов')} неизвестной стоимости`,
  callsCounted: (count, shown) => `${shown} ${n(count, 'вызов', 'вызова', 'вызовов')}`,
  errorsCounted: (count, shown) => `${shown} ${n(count, 'ошибка', 'ошибки', 'ошибок')}`,
  tokensOf: (input, output) => `прочитано ${input}, написано ${output}`,
  tokensUsed: count => `токенов: ${count}`,
  countedIn: days => days === 1 ? 'Сегодня' : `За ${days} дней`,
  nothingCounted: 'За 30 дней не было ни одного вызова.',
  noTimes: 'время не считалось',
  p95Of: time => `95 из 100 ответов ${time}`,
  countedOfToken: name => `Из вызовов здесь считаются только сделанные с вашим токеном ${name}.`
}
