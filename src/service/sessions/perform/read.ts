import { type ReadEffect } from '../../../session/model.ts'
import { type Perform, type Performing } from './performing.ts'

/** A read from a place of one kind. */
export type ReadFrom<K extends 'target' | 'workspace'> = ReadEffect & { readonly from: Readonly<Record<K, string>> }

/** Reads of each kind of place. */
export interface Readers {
  readonly target: Perform<ReadFrom<'target'>>
  readonly workspace: Perform<ReadFrom<'workspace'>>
}

/** Reads from where an effect says. */
export function readFrom ({ target, workspace }: Readers): Perform<ReadEffect> {
  return async performing => 'target' in performing.effect.from
    ? await target(performing as Performing<ReadFrom<'target'>>)
    : await workspace(performing as Performing<ReadFrom<'workspace'>>)
}
