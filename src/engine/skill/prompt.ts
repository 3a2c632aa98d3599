/** What the system prompt of a skill is made of. */
export interface SystemPromptParts {
  /** `SKILL_SYSTEM_PROMPT_WITH_ASK`, as it is. */
  readonly base: string
  /** What the target's own file says; empty without one. */
  readonly knowledge: string
  readonly name: string
  readonly body: string
}

/** Three parts with a blank line between them. */
export function buildSkillSystemPrompt ({ base, knowledge, name, body }: SystemPromptParts): string {
  const context = knowledge === '' ? [] : [`--- System Context ---\n${knowledge}`]
  return [base, ...context, `--- Active Skill: ${name} ---\n${body}`].join('\n\n')
}

/** What the first user message is made of. */
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
