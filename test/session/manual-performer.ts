import { type ActiveEffect, type Outcome, type Performer } from '../../src/session/effects.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** An effect that somebody has begun. */
export interface Performed {
  readonly session: string
  readonly effect: ActiveEffect
  readonly signal: AbortSignal
  /** Ends it; a result when left out. */
  end (outcome?: Outcome): void
}

/** Lets a test end each effect. Tools whose names begin with `read` may be repeated. */
export class ManualPerformer implements Performer {
  /** All that were begun, in order. */
  readonly begun: Performed[] = []

  perform ({ id }: { readonly id: string }, effect: ActiveEffect, signal: AbortSignal): Promise<Outcome> {
    return new Promise(resolve => {
      this.begun.push({ session: id, effect, signal, end: (outcome = { kind: 'result', result: effect.id }) => { resolve(outcome) } })
      signal.addEventListener('abort', () => { resolve({ kind: 'failure', code: 'ABORTED', message: 'aborted' }) })
    })
  }

  isRepeatable (effect: ActiveEffect): boolean {
    return mayRepeat(effect)
  }

  /** The n-th effect, from 0, that was begun; waits for it. */
  async at (n: number): Promise<Performed> {
    return await waitFor(`effect ${n} to begin`, () => this.begun[n])
  }

  /** How often each effect was begun, by id. */
  get counts (): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { effect: { id } } of this.begun) counts[id] = (counts[id] ?? 0) + 1
    return counts
  }
}

/** Ends each effect at once, well. */
export const INSTANT: Performer = {
  async perform (_session, effect) { return { kind: 'result', result: effect.id, usage: { input: 1, output: 1 } } },
  isRepeatable: mayRepeat
}

/** Tools whose names begin with `read`, and all that is neither a tool nor a command. */
export function mayRepeat (effect: ActiveEffect): boolean {
  return effect.kind === 'tool' ? effect.tool.startsWith('read') : effect.kind !== 'exec'
}
