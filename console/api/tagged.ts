/** The value of a reply, and its entity tag, which a later change of the value names in `If-Match`; `undefined` for a reply without a tag. */
export interface Tagged<T> {
  readonly value: T
  readonly tag: string | undefined
}
