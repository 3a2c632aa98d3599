/** Whether an error of the file system says that there is nothing of that name. */
export function isAbsent (error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error))
}

/** Whether an error of the file system says that there is something of that name already. */
export function isPresent (error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

/** Whether an error of the file system says that a link leads to itself. */
export function isEndlessLink (error: unknown): boolean {
  return codeOf(error) === 'ELOOP'
}

/** Why one file cannot be used, where the error concerns that file only. `undefined` where the disk itself is in trouble. */
export function fileProblem (error: unknown): string | undefined {
  if (isEndlessLink(error)) return 'is a link that leads to itself'
  return ['EACCES', 'EPERM'].includes(codeOf(error)) ? 'may not be read by this process' : undefined
}

/** What an error of the file system says of a write; `undefined` where the disk itself is in trouble. */
export function writeProblem (error: unknown): 'read-only' | 'impossible' | undefined {
  if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))) return 'read-only'
  return ['ENAMETOOLONG', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes(codeOf(error)) ? 'impossible' : undefined
}

function codeOf (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
