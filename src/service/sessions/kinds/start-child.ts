import { type Caller } from '../../../access/caller.ts'
import { visibleGeneration } from '../../../access/generation-view.ts'
import { definitionNotFound } from '../../../base/errors.ts'
import { LOOP } from '../../../engine/loop/loop-state.ts'
import { type ResolvedDefinitions } from '../../../engine/shared/dialogue-start.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { isOf, startedAs } from '../../../session/engine.ts'
import { type Budget, type ChildEffect, type Spent, type Start } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { startDialogue } from './agent.ts'
import { askOf, withinReach } from './resolve-definitions.ts'
import { type SessionKinds } from './table.ts'

/** What is needed to start a child session (one that another session starts): its parent, the owner, and the effect that asks for it. */
export interface ChildStarter {
  /** The owner of the parent, with the rights that he has now. */
  readonly caller: Caller
  readonly parent: Session
  readonly effect: ChildEffect
  /** The id that the child will have. */
  readonly id: string
}

/**
 * Makes the recorded start of a child session, which another session starts. The child's definition is the one recorded when the first
 * session (the root) began; targets, workspaces and rights are those of now. Whatever needs approval in the parent needs it in the child,
 * too.
 * @param generation the current snapshot of all entries
 * @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND, and errors of the child's kind
 */
export async function startOfChild (kinds: SessionKinds, generation: Generation, starter: ChildStarter): Promise<Start> {
  const { parent, parent: { start }, effect } = starter
  const made = await makeStart(kinds, visibleGeneration(generation, starter.caller), starter)
  const reserved = parent.open.get(effect.id)?.reserved ?? { steps: 0, tokens: 0 }
  const line = [...start.parent?.line ?? [], { session: parent.id, definition: start.definition }]
  return {
    ...made,
    owner: start.owner,
    budget: within(made.budget, reserved),
    ask: [...new Set([...start.ask, ...made.ask])],
    parent: { session: parent.id, effect: effect.id, root: start.parent?.root ?? parent.id, depth: line.length, line }
  }
}

async function makeStart (kinds: SessionKinds, generation: Generation, { caller, parent, effect, id }: ChildStarter): Promise<Omit<Start, 'owner'>> {
  const { definition, input: { text, params = {} }, place } = effect
  const definitions = definitionsIn(parent.start)
  const found = Object.hasOwn(definitions, definition) ? definitions[definition] : undefined
  const by = { caller, generation, session: id, requestId: id, ...(found === undefined ? {} : { recorded: found }) }
  switch (found?.kind) {
    case 'agents': {
      const reach = withinReach(definitions, definition)
      const reachable = Object.keys(reach).length === 0 ? {} : { definitions: reach }
      return startDialogue(found, { tools: found.tools, ...reachable, ask: askOf(found.agent, definitions) }, { task: text })
    }
    case 'skills': return await kinds.skills.start({ id: found.id, params, prompt: text, target: place, autoContinue: true }, by)
    case 'plans': return await kinds.plans.start({ goal: text, workspace: place ?? '', mode: 'apply', confirm: 'diff' }, by)
    default: throw definitionNotFound('definition', definition, [])
  }
}

/** The definitions that a session can start or hand over to, as recorded at its start. Only dialogues with agents have any. */
export function definitionsIn (start: Start): ResolvedDefinitions {
  return isOf(start.engine, LOOP) ? startedAs(start, LOOP).setting.definitions ?? {} : {}
}

function within ({ steps, tokens, idle }: Budget, reserved: Spent): Budget {
  return { steps: Math.min(steps, reserved.steps), tokens: Math.min(tokens, reserved.tokens), idle }
}
