import { type LineEdit, type Move } from './tasks.ts'

/** Writes an answer of a task down as a product wants its model to. */
export type Encoding = (move: Move) => string

/** The contract of plans: JSON with EDIT_FILE. */
export const asPlan: Encoding = move => {
  if ('prose' in move) return move.prose
  const answer = 'givesUp' in move
    ? { actions: [], summary: `NO_CHANGES: ${move.givesUp}` }
    : { actions: [{ kind: 'EDIT_FILE', path: move.edit.path, edits: [{ search: move.edit.search, replace: move.edit.replace }] }], summary: 'The line is mended.' }
  const text = JSON.stringify(answer)
  return 'edit' in move && move.isCut === true ? text.slice(0, -20) : text
}

/** The question for a file that has not been shown. */
export function readsFile (path: string): string {
  return JSON.stringify({ actions: [], summary: 'The file has to be read.', context_requests: [{ type: 'read_file', path }] })
}

/** Aider's edit format `diff`: blocks of SEARCH and REPLACE. */
export const asBlocks: Encoding = move => {
  if ('prose' in move) return move.prose
  if ('givesUp' in move) return move.givesUp
  return `The line is mended.\n\n${blockOf(move.edit, move.isCut === true)}`
}

function blockOf ({ path, search, replace }: LineEdit, isCut: boolean): string {
  const end = isCut ? '' : '\n>>>>>>> REPLACE\n```\n'
  return `${path}\n\`\`\`javascript\n<<<<<<< SEARCH\n${search}\n=======\n${replace}${end}`
}
