import picomatch from 'picomatch'

/**
 * The largest number of stars in a pattern that comes from a model or from a file of a workspace. To match a regular expression with n
 * stars can take time in the n-th power of a name's length.
 */
const MAX_STARS = 3
const MAX_LENGTH = 200

/** Whether a pattern that comes from a model or from a file of a workspace can be matched in a short time, whatever text it is matched against. */
export function isCheapPattern (pattern: string): boolean {
  return pattern.length <= MAX_LENGTH && (pattern.match(/\*+/g) ?? []).length <= MAX_STARS
}

/**
 * Makes a function that tests whether a path matches a glob. A glob without a slash matches file names in any folder.
 * @returns undefined for a glob that is too long, or has too many stars
 */
export function globOf (glob: string): ((path: string) => boolean) | undefined {
  if (!isCheapPattern(glob)) return undefined
  const isMatch = picomatch(glob.replace(/^\.?\//, ''), { dot: true, noextglob: true, basename: !glob.includes('/') })
  return path => isMatch(path)
}
