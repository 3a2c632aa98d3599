import { ApiError } from '../api/api-error.ts'
import { errorWords, t } from '../text/text.ts'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icons.tsx'

/** An error that says itself what went wrong, such as one that a stream has told. */
export class Told extends Error {}

/**
 * Shows an error in the language of the console, with the service's code, and a button that copies the request's id. For a request without
 * a reply, it says that the service cannot be reached. @param isSent whether the request counts once when it is sent again (useSending)
 */
export function ErrorNote ({ error, onRetry, isSent = false }: {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
  readonly isSent?: boolean
}) {
  const known = error instanceof ApiError ? error : undefined
  return (
    <div className='note bad' role='alert'>
      <Icon name='problems' />
      <span className='grow wrap'>
        {known === undefined && (error instanceof Told ? error.message : isSent ? t.sentInDoubt : t.unreachable)}
        {known !== undefined && <ErrorWords code={known.code} message={known.message} details={known.details} />}
      </span>
      {known !== undefined && known.requestId !== '' && <CopyButton text={known.requestId} label={t.copyRequestId} className='button small' />}
      {onRetry !== undefined && <button type='button' className='button small' onClick={onRetry}>{t.retry}</button>}
    </div>
  )
}

/** The words for an error of the service, with its code. Beside a translation, the service's own message is a press away. */
export function ErrorWords ({ code, message, details }: { readonly code: string, readonly message: string, readonly details?: ApiError['details'] }) {
  const words = errorWords(code, details)
  return (
    <>
      {words ?? message}
      {code !== '' && <> <code>{code}</code></>}
      {words !== undefined && words !== message && <details><summary>{t.inWordsOfService}</summary><span lang='en'>{message}</span></details>}
    </>
  )
}
