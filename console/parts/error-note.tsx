import { ApiError } from '../api/api-error.ts'
import { t } from '../text/text.ts'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icons.tsx'

/** What went wrong, in the service's own words, with the code, and the request's id to copy. */
export function ErrorNote ({ error, onRetry }: { readonly error: unknown, readonly onRetry?: (() => void) | undefined }) {
  const known = error instanceof ApiError ? error : undefined
  return (
    <div className='note bad' role='alert'>
      <Icon name='problems' />
      <span className='grow wrap'>
        {known?.message ?? t.unreachable}
        {known !== undefined && known.code !== '' && <> <code>{known.code}</code></>}
      </span>
      {known !== undefined && known.requestId !== '' && <CopyButton text={known.requestId} label={t.copyRequestId} className='button small' />}
      {onRetry !== undefined && <button type='button' className='button small' onClick={onRetry}>{t.retry}</button>}
    </div>
  )
}
