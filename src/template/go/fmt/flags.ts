/** Flags, width and precision of one verb of a format. */
export class Flags {
  minus = false
  plus = false
  sharp = false
  space = false
  zero = false
  /** `%+v` and `%#v`: formats of their own, so that `plus` and `sharp` are off then. */
  plusV = false
  sharpV = false
  width: number | undefined = undefined
  precision: number | undefined = undefined
}

/** `%v` without flags. */
export const PLAIN: Readonly<Flags> = Object.freeze(new Flags())
