import { plural } from '../plural.ts'

const n = plural('en')

/** The English texts of the numbers of calls of models, and of the page with what they used and cost. */
export const texts = {
  usageNote: 'Calls of models, what they used and what they cost. Days are those of UTC.',
  usageTime: 'Time',
  lastDays: (days: number) => ({ 1: 'Today', 7: '7 days', 30: '30 days' })[days] ?? `${days} days`,
  usageBy: 'By',
  usageByOf: (by: string) => ({ prompt: 'Prompt', token: 'Token', model: 'Model', label: 'Label', day: 'Day' })[by] ?? by,
  usageUnnamed: (by: string) => ({ prompt: 'without a prompt', token: 'without a token', label: 'without a label' })[by] ?? 'without a name',
  usageWithout: (name: string) => `All, not only: ${name}`,
  usageOthers: 'all others together',
  usageOfToken: (name: string) => `Only the calls of your token, ${name}, are shown.`,
  usageNone: 'Nothing was counted in this time',
  usageNoneNext: 'Every call of a model is counted: by chats, sessions and the playground.',
  usageSum: 'Together',
  usageMeasure: 'Bars',
  measureOf: (measure: string) => ({ calls: 'Calls', tokens: 'Tokens', cost: 'Cost' })[measure] ?? measure,
  mostOn: (what: string, most: string, day: string) => `${what} by day. The most: ${most} on ${day}.`,
  pricesOf: (day: string) => `Prices as of ${day}.`,
  usageSince: 'Without Redis nothing outlives the service: counted since',
  errors: 'Errors',
  p95: '95 of 100 took',
  budgets: 'Budgets',
  budgetsNone: 'The operator has set none that binds you.',
  budgetUsed: (used: string, most: string, unit: string, period: string) => (
    `${used} of ${most}${unit === 'tokens' ? ' tokens' : ''} ${period === 'day' ? 'today' : 'this month'}`
  ),
  budgetIsUsed: 'used up',
  budgetNearlyUsed: 'nearly used up',
  budgetOf: (tokens: string | undefined, prompts: string | undefined) => [tokens && `of ${tokens}`, prompts && `for ${prompts}`].filter(Boolean).join(', '),
  anewAt: 'begins anew',
  // Numbers and costs, also of versions, labels and sessions
  cost: 'Cost',
  costUnknown: 'cost unknown',
  costAndUnknown: (cost: string, calls: number) => `${cost} and ${calls} ${n(calls, 'call', 'calls')} of unknown cost`,
  callsCounted: (count: number, shown: string) => `${shown} ${n(count, 'call', 'calls')}`,
  errorsCounted: (count: number, shown: string) => `${shown} ${n(count, 'error', 'errors')}`,
  tokensOf: (input: string, output: string) => `${input} read, ${output} written`,
  tokensUsed: (count: string) => `${count} tokens`,
  countedIn: (days: number) => days === 1 ? 'Today' : `${days} days`,
  nothingCounted: 'No call was counted in 30 days.',
  noTimes: 'no times counted',
  p95Of: (time: string) => `95 of 100 answers ${time}`,
  countedOfToken: (name: string) => `Of calls, only those of your token, ${name}, are counted here.`
}
