/**
 * The reasons for which the service asks a person, with their Russian translations. The service's words are in src/session/gate.ts,
 * command-rules.ts and effects.ts.
 */
const RULES: ReadonlyArray<readonly [words: RegExp, russian: string]> = [
  [/^commands are approved one by one$/, 'каждая команда требует разрешения'],
  [/^commits are approved one by one$/, 'каждый коммит требует разрешения'],
  [/^deletions are approved one by one$/, 'каждое удаление требует разрешения'],
  [/^calls of (.+) are approved one by one$/, 'каждый вызов $1 требует разрешения'],
  [/^the operator asks for "(.+)"$/, 'так велит правило оператора «$1»'],
  [/^the model did not say that this is a command$/, 'модель не назвала это командой'],
  [/^the same call was interrupted before, and may have been done$/, 'такой же вызов был прерван и, возможно, выполнен'],
  [/^the same call of (.+) for the third time since the user spoke$/, 'тот же вызов $1 в третий раз после слов пользователя'],
  [/^the same command for the third time since the user spoke$/, 'та же команда в третий раз после слов пользователя']
]

/** Translates the reason for which a person is asked into Russian; an unknown reason is returned unchanged. */
export function ruleInRussian (rule: string): string {
  for (const [words, russian] of RULES) if (words.test(rule)) return rule.replace(words, russian)
  return rule
}
