import { t } from '../text/text.ts'

/** Below a list: shows more of it. */
export function MoreButton ({ onPress }: { readonly onPress: () => void }) {
  return <p className='after'><button type='button' className='button' onClick={onPress}>{t.showMore}</button></p>
}
