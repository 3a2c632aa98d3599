import { type BuiltinAnswer } from './builtin-answer.ts'
import { type BuiltinRequest } from './builtin-model.ts'
import { textOf } from './request-texts.ts'

/** The answer of the builtin model `echo`: it repeats the last message of the user, or the last message of all when the user has said nothing. */
export function echo ({ messages }: BuiltinRequest): BuiltinAnswer {
  return { text: textOf(messages.findLast(message => message['role'] === 'user') ?? messages.at(-1)) }
}
