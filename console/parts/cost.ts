import { language, t } from '../text/text.ts'

const LOCALE = language === 'ru' ? 'ru-RU' : 'en-GB'
const dollars = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' })
/** Most calls cost a small part of a cent. */
const fractions = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', maximumSignificantDigits: 3 })

export function money (usd: number): string {
  return usd === 0 || usd >= 1 ? dollars.format(usd) : fractions.format(usd)
}

/** What calls of models cost. What nobody knows is never told as 0. */
export function costWords ({ costUsd, unpricedCalls = 0 }: { readonly costUsd?: number | undefined, readonly unpricedCalls?: number | undefined }): string {
  if (costUsd === undefined) return t.costUnknown
  return unpricedCalls === 0 ? money(costUsd) : t.costAndUnknown(money(costUsd), unpricedCalls)
}
