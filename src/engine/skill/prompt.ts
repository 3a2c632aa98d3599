/** The parts of the system prompt of a skill. */
export interface SystemPromptParts {
  /** The service's instructions to the model: how it has to write its replies. */
  readonly base: string
  /** The text of the target's knowledge file; empty when the target (the machine where commands run) has none. */
  readonly knowledge: string
  readonly name: string
  readonly body: string
}

/** Builds the system prompt of a skill: the service's instructions, the target's knowledge file and the skill's own text, with blank lines between them. */
export function buildSkillSystemPrompt ({ base, knowledge, name, body }: SystemPromptParts): string {
  const context = knowledge === '' ? [] : [`--- System Context ---\n${knowledge}`]
  return [base, ...context, `--- Active Skill: ${name} ---\n${body}`].join('\n\n')
}

/** The parts of a skill's first message to the model. */
export interface FirstMessageParts {
  readonly name: string
  /** The text that the caller added when starting the skill; empty without one. */
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
}

/** Builds a skill's first message to the model, without the remark about the step. */
export function buildInitialUserPrompt ({ name, prompt, parameters }: FirstMessageParts): string {
  const wish = prompt === '' ? `Execute skill: ${name}` : prompt
  return parameters.length === 0 ? wish : `${wish}\n\nParameters:\n${parameters.map(({ name, value }) => `- ${name}: ${value}`).join('\n')}`
}

/** Appends to a message the remark which step of how many this is, so that the model can plan ahead. */
export function withStep (text: string, step: number, most: number): string {
  return `${text}\n\n[Step ${step} of ${most}]`
}
