import { type TextPlace } from '../../base/json.ts'

/** Why a `.prompt` file is no prompt of this service. */
export class DotpromptError extends Error {
  override readonly name = 'DotpromptError'
  /** In the file. */
  readonly place: TextPlace
  /** What to write instead. */
  readonly hint: string | undefined
  /** Of the diagnostic, where it has one of its own. */
  readonly code: string | undefined

  constructor (message: string, place: TextPlace, { hint, code }: { readonly hint?: string, readonly code?: string } = {}) {
    super(message)
    this.place = place
    this.hint = hint
    this.code = code
  }
}
