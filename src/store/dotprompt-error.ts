import { type TextPlace } from '../base/json.ts'

/** The error that a `.prompt` file cannot be read as a prompt of this service. */
export class DotpromptError extends Error {
  override readonly name = 'DotpromptError'
  /** The place of the mistake in the file. */
  readonly place: TextPlace
  /** The advice to the author: what to write instead; `undefined` when there is none. */
  readonly hint: string | undefined
  /** The code of this kind of mistake, such as `ROLE_NESTED`; `undefined` for a kind without a code of its own. */
  readonly code: string | undefined

  constructor (message: string, place: TextPlace, { hint, code }: { readonly hint?: string, readonly code?: string } = {}) {
    super(message)
    this.place = place
    this.hint = hint
    this.code = code
  }
}
