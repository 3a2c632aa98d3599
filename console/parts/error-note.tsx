import { ApiError } from '../api/api-error.ts'
import { t } from '../text/text.ts'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icons.tsx'

/** An error that says itself what went wrong, such as one that a stream has told. */
export class Told extends Error {}

/**
 * Shows an error: the service's message and code, and a button that copies the request's id. For a request without a reply, it says that
 * the service cannot be reached.
 */
export function ErrorNote ({ error, onRetry }: { readonly error: unknown, readonly onRetry?: (() => void) | undefined }) {
  const known = error instanceof ApiError ? error : undefined
  return (
    <div className='note bad' role='alert'>
      <Icon name='problems' />
      <span className='grow wrap'>
        {known?.message ?? (error instanceof Told ? error.message : t.unreachable)}
        {known !== undefined && known.code !== '' && <> <code>{known.code}</code></>}
      </span>
      {known !== undefined && known.requestId !== '' && <CopyButton text={known.requestId} label={t.copyRequestId} className='button small' />}
      {onRetry !== undefined && <button type='button' className='button small' onClick={onRetry}>{t.retry}</button>}
    </div>
  )
}
