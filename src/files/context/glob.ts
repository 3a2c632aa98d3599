import picomatch from 'picomatch'

/**
 * How many times a pattern may say "anything". A regular expression with n of these can take the n-th power of a name's
 * length, for names that somebody has chosen for that.
 */
const MAX_STARS = 3
const MAX_LENGTH = 200

/** Whether a pattern of a stranger can be matched in a short time, whatever it is held against. */
export function isCheapPattern (pattern: string): boolean {
  return pattern.length <= MAX_LENGTH && (pattern.match(/\*+/g) ?? []).length <= MAX_STARS
}

/**
 * Tells which paths a glob names. A glob without a slash names files in any folder.
 * @returns undefined for a glob that is too long, or has too many stars
 */
export function globOf (glob: string): ((path: string) => boolean) | undefined {
  if (!isCheapPattern(glob)) return undefined
  const isMatch = picomatch(glob.replace(/^\.?\//, ''), { dot: true, noextglob: true, basename: !glob.includes('/') })
  return path => isMatch(path)
}
