/** The error code of a refusal to read or write files of a workspace. Existing clients know these codes (docs/plans.md). */
export type RefusalCode =
  | 'ERR_INVALID_PATH' | 'ERR_PATH_TOO_LONG' | 'PROTECTED_PATH' | 'FORBIDDEN_PATH' | 'PATH_NOT_FOUND'
  | 'ERR_TOO_MANY_ACTIONS' | 'ERR_CONTENT_REQUIRED' | 'ERR_CONTENT_TOO_LARGE' | 'ERR_ACTION_CONFLICT' | 'ERR_SCHEMA_VALIDATION'
  | 'ERR_FILE_EXISTS' | 'ERR_UPDATE_WITHOUT_BASE' | 'ERR_BASE_CHANGED'
  | 'ERR_EDIT_NOT_FOUND' | 'ERR_EDIT_AMBIGUOUS' | 'ERR_EDIT_OVERLAP' | 'SNAPSHOT_FAILED' | 'APPLY_FAILED_ROLLED_BACK' | 'ROLLBACK_FAILED'
  | 'NOTHING_TO_UNDO' | 'NOTHING_TO_REDO' | 'WORKSPACE_UNKNOWN' | 'WORKSPACE_BUSY' | 'MEMORY_UNUSABLE'

/** The error that files of a workspace are not read or written as asked. The message names the path as the caller did. */
export class FileRefusal extends Error {
  override readonly name = 'FileRefusal'
  readonly code: RefusalCode

  constructor (code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The code of an error of the file system, such as `ENOENT`; empty for any other error. */
export function errorCode (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
