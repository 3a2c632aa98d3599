import { isConsent } from '../../engine/texts/consent.ts'
import { type JsonObject } from '../../base/json.ts'
import { type DialogueEvent, type Dialogues, type Said } from './dialogue.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Lines } from '../lines.ts'
import { type Output } from '../output.ts'
import { DIFF_ANSWERS, ShownChange } from '../show-preview.ts'

/** The questions of a child session (one that an agent has started) that wait for the user. */
export interface AskedBelow {
  readonly session: string
  /** The line that tells the user which child session waits, with the names of the sessions above it. */
  readonly title: string
  /** The actions of the child session that wait for approval, as the events that the child session itself would send. */
  readonly approvals: readonly DialogueEvent[]
  readonly question: { readonly word: string, readonly text: string } | undefined
}

/**
 * Reads the open questions of a child session from an event of the type `live` that its parent session has sent.
 * @param answered keys of the questions that the user was asked before; the keys of new questions are added to it
 * @returns `undefined` if there is no question that the user was not asked before
 */
export function askBelow (data: JsonObject, answered: Set<string>): AskedBelow | undefined {
  const { session: id = '', definition = '', path = [], ask: given } = data
  if (given === undefined) return undefined
  const session = textOf(id)
  const ask = objectOf(given)
  const approvals = listOf(ask['approvals'] ?? []).map(objectOf).filter(({ id: approval = '' }) => !answered.has(textOf(approval)))
  for (const { id: approval = '' } of approvals) answered.add(textOf(approval))
  const place = `${session}:${String(ask['seq'])}`
  const isNew = ask['word'] !== undefined && !answered.has(place)
  if (isNew) answered.add(place)
  const question = isNew ? { word: textOf(ask['word']), text: textOf(ask['text']) } : undefined
  if (approvals.length === 0 && question === undefined) return undefined
  const line = listOf(path).map(textOf).join(' > ')
  return {
    session,
    title: `${line === '' ? textOf(definition) : line} (session ${session}) waits for you:`,
    approvals: approvals.map(({ id: approval = '', rule = '', digest = '', effect = {} }) => ({
      type: 'approval',
      data: { rule, digest, ...objectOf(effect), effect: textOf(approval).slice(session.length + 1) }
    })),
    question
  }
}

/**
 * Shows a question of a child session to the user, and reads the answer.
 * @returns the answer; `undefined` when the input has ended; `elsewhere` for a question that this command cannot answer
 */
export async function answerBelow (
  session: string,
  { word, text }: NonNullable<AskedBelow['question']>,
  { dialogues, lines, output }: { readonly dialogues: Pick<Dialogues, 'preview'>, readonly lines: Lines, readonly output: Output }
): Promise<Said | 'elsewhere' | undefined> {
  if (word === 'waiting_cmd') {
    await output.words(`its commands are run by hand: aps skill resume ${session}`)
    return 'elsewhere'
  }
  const change = new ShownChange(dialogues, output)
  if (word === 'awaiting_confirmation') await change.finish(session)
  if (text !== '' && !output.wantsJson) await output.said(text)
  else if (word === 'awaiting_confirmation' && !output.wantsJson) await output.words(DIFF_ANSWERS)
  const line = await lines.next()
  if (line === undefined) return undefined
  const { digest } = change
  return digest !== undefined && isConsent(line) ? { action: { name: 'apply', data: { digest } } } : { text: line }
}
