import { t } from '../text/text.ts'

/** The button below a list that shows more rows. */
export function MoreButton ({ onPress }: { readonly onPress: () => void }) {
  return <p className='after'><button type='button' className='button' onClick={onPress}>{t.showMore}</button></p>
}
