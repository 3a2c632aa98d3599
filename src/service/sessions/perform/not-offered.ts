import { type ActiveEffect } from '../../../session/performer.ts'
import { type Perform } from './performing.ts'

/** Does nothing, and says so: for what the operator has not offered. */
export const notOffered: Perform<ActiveEffect> = async ({ effect: { kind } }) => ({ kind: 'failure', code: 'NOT_OFFERED', message: `the operator of this service offers nothing for "${kind}"` })
