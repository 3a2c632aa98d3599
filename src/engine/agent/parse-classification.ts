/**
 * Whether a model's answer to the question of relevance is yes or no: exactly one of these words, whatever its case and
 * the punctuation around it.
 * @returns `undefined` for any other answer
 */
export function parseClassification (answer: string): boolean | undefined {
  const [, word] = /^[\s\p{P}\p{S}]*(да|нет|yes|no)[\s\p{P}\p{S}]*$/iu.exec(answer.slice(0, MAX_ANSWER)) ?? []
  return word === undefined ? undefined : /^(?:да|yes)$/iu.test(word)
}

/** No such answer is longer, in UTF-16 units. */
const MAX_ANSWER = 100
