/** Whether an error of the file system says that no file or folder of that name exists. */
export function isAbsent (error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error))
}

/** Whether an error of the file system says that a file or folder of that name exists already. */
export function isPresent (error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

/** Whether an error of the file system says that a symbolic link leads to itself. */
export function isEndlessLink (error: unknown): boolean {
  return codeOf(error) === 'ELOOP'
}

/** Why one file cannot be read, in words, for an error that concerns that file only; `undefined` for an error of the disk itself. */
export function fileProblem (error: unknown): string | undefined {
  if (isEndlessLink(error)) return 'is a link that leads to itself'
  return ['EACCES', 'EPERM'].includes(codeOf(error)) ? 'may not be read by this process' : undefined
}

/** Why a file cannot be written, for an error that concerns that file only; `undefined` for an error of the disk itself. */
export function writeProblem (error: unknown): 'read-only' | 'impossible' | undefined {
  if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))) return 'read-only'
  return ['ENAMETOOLONG', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes(codeOf(error)) ? 'impossible' : undefined
}

function codeOf (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
