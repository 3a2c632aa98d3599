/**
 * The reasons for which the service asks a person, with their Russian translations. The service's words are in src/session/gate.ts,
 * command-rules.ts and effects.ts.
 */
const RULES: ReadonlyArray<readonly [words: RegExp, russian: string]> = [
  [/^commands are approved one by one$/, 'каждая команда требует разрешения'],
  [/^(.+) is moved when others have looked: (\d+) of (\d+) have$/, 'метку $1 переставляют, когда посмотрели другие: $2 из $3'],
  [/^commits are approved one by one$/, 'каждый коммит требует разрешения'],
  [/^deletions are approved one by one$/, 'каждое удаление требует разрешения'],
  [/^calls of (.+) are approved one by one$/, 'каждый вызов $1 требует разрешения'],
  [/^the operator asks for "(.+)"$/, 'так велит правило оператора «$1»'],
  [/^the model did not say that this is a command$/, 'модель не назвала это командой'],
  [/^the same call was interrupted before, and may have been done$/, 'такой же вызов был прерван и, возможно, выполнен'],
  [/^the same call of (.+) for the third time since the user spoke$/, 'тот же вызов $1 в третий раз после слов пользователя'],
  [/^the same command for the third time since the user spoke$/, 'та же команда в третий раз после слов пользователя']
]

/** The reasons for which the output of a terminal ends. The service's words are in src/exec/ and terminal-service.ts. */
const REASONS: typeof RULES = [
  [/^the shell has ended with code (\d+)$/, 'оболочка завершилась с кодом $1'],
  [/^the shell was ended by the signal (\w+)$/, 'оболочку завершил сигнал $1'],
  [/^the connection was lost$/, 'связь с машиной потеряна'],
  [/^attached elsewhere$/, 'он открыт в другом окне'],
  [/^closed by its user$/, 'его закрыл пользователь'],
  [/^ended by its user$/, 'его завершил пользователь'],
  [/^ended by (.+)$/, 'его завершил $1'],
  [/^nobody has used it$/, 'им давно не пользовались'],
  [/^a command did not end$/, 'одна из команд не завершилась']
]

/** Translates the reason for which a person is asked into Russian; an unknown reason is returned unchanged. */
export function ruleInRussian (rule: string): string {
  return translated(rule, RULES)
}

/** Translates the reason for which a terminal has ended into Russian; an unknown reason is returned unchanged. */
export function reasonInRussian (reason: string): string {
  return translated(reason, REASONS)
}

function translated (text: string, table: typeof RULES): string {
  for (const [words, russian] of table) if (words.test(text)) return text.replace(words, russian)
  return text
}
