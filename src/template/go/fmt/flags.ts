/** The flags, width and precision of one verb of a `printf` format, such as `%-8.3f`. */
export class Flags {
  minus = false
  plus = false
  sharp = false
  space = false
  zero = false
  /** Whether the verb is `%+v` (`plusV`) or `%#v` (`sharpV`). Go treats these as formats of their own, so `plus` and `sharp` are off then. */
  plusV = false
  sharpV = false
  width: number | undefined = undefined
  precision: number | undefined = undefined
}

/** The verb `%v` without flags. */
export const PLAIN: Readonly<Flags> = Object.freeze(new Flags())
