/**
 * The limits of one change of files: the number of actions, and the sizes of each new content and of all together, in bytes
 * (docs/plans.md, How files are changed).
 */
export const MAX_ACTIONS = 200
export const MAX_CONTENT_BYTES = 1024 * 1024
export const MAX_TOTAL_BYTES = 5 * 1024 * 1024
