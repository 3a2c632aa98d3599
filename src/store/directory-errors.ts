/** Whether an error of the file system says that there is nothing of that name. */
export function isAbsent (error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error))
}

/** Whether an error of the file system says that a link leads to itself. */
export function isEndlessLink (error: unknown): boolean {
  return codeOf(error) === 'ELOOP'
}

/** Why one file cannot be used, where the error concerns that file only; `undefined` where the disk itself is in trouble. */
export function fileProblem (error: unknown): string | undefined {
  if (isEndlessLink(error)) return 'is a link that leads to itself'
  return ['EACCES', 'EPERM'].includes(codeOf(error)) ? 'may not be read by this process' : undefined
}

function codeOf (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
