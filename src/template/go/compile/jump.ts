/**
 * What a statement does to the loop around it, as bits that can be joined. The first two are jumps that happen. The others
 * are jumps that skipped code might have made.
 */
export const Jump = {
  None: 0,
  Continue: 1,
  Break: 2,
  MaybeContinue: 4,
  MaybeBreak: 8
} as const

/** Jumps that happen. */
export const REAL_JUMPS = Jump.Continue | Jump.Break

/** The same jumps as ones that skipped code might have made. */
export function maybe (jumps: number): number {
  return (jumps & REAL_JUMPS) << 2
}
