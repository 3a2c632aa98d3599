/**
 * The effects of a statement on the loop around it, as bits that can be combined. `Continue` and `Break` are jumps that happen. The other two are jumps
 * that skipped code might have made. Code is skipped when its condition is not known yet.
 */
export const Jump = {
  None: 0,
  Continue: 1,
  Break: 2,
  MaybeContinue: 4,
  MaybeBreak: 8
} as const

/** The bits of the jumps that really happen, unlike `MaybeContinue` and `MaybeBreak`. */
export const REAL_JUMPS = Jump.Continue | Jump.Break

/** Turns the bits of jumps that happen into the bits of the same jumps that skipped code might have made. */
export function maybe (jumps: number): number {
  return (jumps & REAL_JUMPS) << 2
}
