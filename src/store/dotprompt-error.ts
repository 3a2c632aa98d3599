import { type TextPlace } from '../base/json.ts'

export class DotpromptError extends Error {
  override readonly name = 'DotpromptError'
  readonly place: TextPlace
  readonly hint: string | undefined
  /** Such as `ROLE_NESTED`; `undefined` for a mistake without a code of its own. */
  readonly code: string | undefined

  constructor (message: string, place: TextPlace, { hint, code }: { readonly hint?: string, readonly code?: string } = {}) {
    super(message)
    this.place = place
    this.hint = hint
    this.code = code
  }
}
