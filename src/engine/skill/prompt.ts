/** The parts of a skill's system prompt. */
export interface SystemPromptParts {
  /** The first part: `SKILL_SYSTEM_PROMPT_WITH_ASK`, unchanged. */
  readonly base: string
  /** The text of the target's file of knowledge; empty where the target has none. */
  readonly knowledge: string
  readonly name: string
  readonly body: string
}

/** The system prompt of a skill: base, knowledge and body with blank lines between them. */
export function buildSkillSystemPrompt ({ base, knowledge, name, body }: SystemPromptParts): string {
  const context = knowledge === '' ? [] : [`--- System Context ---\n${knowledge}`]
  return [base, ...context, `--- Active Skill: ${name} ---\n${body}`].join('\n\n')
}

/** The parts of the first user message. */
export interface FirstMessageParts {
  readonly name: string
  /** The caller's own words; empty without. */
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
}

/** The first user message, without its step. */
export function buildInitialUserPrompt ({ name, prompt, parameters }: FirstMessageParts): string {
  const wish = prompt === '' ? `Execute skill: ${name}` : prompt
  return parameters.length === 0 ? wish : `${wish}\n\nParameters:\n${parameters.map(({ name, value }) => `- ${name}: ${value}`).join('\n')}`
}

/** A user message as it is sent: it ends with its step. */
export function withStep (text: string, step: number, most: number): string {
  return `${text}\n\n[Step ${step} of ${most}]`
}
