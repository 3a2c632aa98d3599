import type { ReactNode } from 'react'
import { provider, signIn } from '../api/sign-in.ts'
import { t } from '../text/text.ts'

/** Signing in at the provider; below it, folded, what a token is entered by. `why` and `code` are of the error for which the user is asked. */
export function SignInChoice ({ why, code, children }: { readonly why: string | undefined, readonly code: string | undefined, readonly children: ReactNode }) {
  const hindrance = provider.authorize === '' ? t.signInAway : isSecureContext ? undefined : t.signInInsecure
  // Whom the service gives no rights, the provider knows: it has to ask for somebody else.
  const begin = () => { void signIn(code === 'IDENTITY_UNLISTED' ? 'login' : undefined) }
  return (
    <>
      <h2 id='token-title'>{t.signInTitle}</h2>
      <p className='wrap'>{code === 'TOKEN_REQUIRED' ? t.signInWhy : why}</p>
      {hindrance === undefined
        ? (
          <div className='row'>
            <button type='button' className='button primary' autoFocus onClick={begin}>{t.signIn}</button>
            <span className='hint cut'>{t.signInAt(new URL(provider.issuer).host)}</span>
          </div>
          )
        : <p className='note warn wrap' role='alert'>{hindrance}</p>}
      <details><summary>{t.signInByToken}</summary>{children}</details>
    </>
  )
}
