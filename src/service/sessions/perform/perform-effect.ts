import { type Caller } from '../../../access/caller.ts'
import { FileRefusal } from '../../../files/file-refusal.ts'
import { type Generation } from '../../../registry/generation.ts'
import { type ActiveEffect, type Outcome, type Performer } from '../../../session/performer.ts'
import { refusalOf } from '../session-rights.ts'
import { isRepeatableTool } from './call-registered-tool.ts'
import { type SessionObserver } from './effect-activity.ts'
import { type Perform, type Performers, type Performing } from './performing.ts'

export interface PerformerOptions {
  readonly performers: Performers
  readonly registry: { readonly generation: Generation }
  /** The holder of a token, as it is now; `undefined` when there is none of that name any more. */
  readonly callerNamed: (name: string) => Caller | undefined
  readonly observer: SessionObserver | undefined
}

/** Does what sessions ask for, as their owner is now. */
export function createPerformer ({ performers, registry, callerNamed, observer }: PerformerOptions): Performer {
  async function outcomeOf (performing: Performing<ActiveEffect>): Promise<Outcome> {
    // The performer of a kind takes the effects of that kind: TypeScript does not follow a union from its key to its value.
    const perform = performers[performing.effect.kind] as Perform<ActiveEffect>
    try {
      return await perform(performing)
    } catch (error) {
      if (error instanceof FileRefusal) return { kind: 'failure', code: error.code, message: error.message }
      return { kind: 'failure', code: 'INTERNAL', message: (error as Error).message }
    }
  }

  return {
    async perform (session, effect, signal, publish) {
      const caller = callerNamed(session.start.owner)
      if (caller === undefined) return { kind: 'failure', code: 'OWNER_GONE', message: `there is no token "${session.start.owner}" any more` }
      const refusal = refusalOf(caller, session.start, effect)
      if (refusal !== undefined) return refusal
      const activity = observer?.beginEffect(session, effect)
      const outcome = await outcomeOf({ session, effect, caller, signal, activity, publish })
      activity?.end(outcome.kind === 'result' ? 'ok' : outcome.kind === 'failure' ? outcome.code : 'UNKNOWN')
      return outcome
    },
    // A command may have done anything. A change of files finds out from its journal how far it came.
    isRepeatable: effect => effect.kind === 'tool' ? isRepeatableTool(registry.generation, effect.tool) : effect.kind !== 'exec'
  }
}
