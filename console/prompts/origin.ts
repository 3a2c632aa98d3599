import { type Source, type Span } from '../api/preview.ts'

export type Origin = 'literal' | 'default' | 'variable' | 'shared' | 'tool'

const ORIGINS: Readonly<Record<Source['kind'], Origin>> = { literal: 'literal', default: 'default', variable: 'variable', environ: 'shared', tool: 'tool' }
const RANKS: readonly Origin[] = ['literal', 'default', 'variable', 'shared', 'tool']

/** What a piece is tinted for: of several sources the one that is farthest away. */
export function originOf ({ sources }: Span): Origin {
  return sources.map(({ kind }) => ORIGINS[kind]).reduce<Origin>((most, origin) => RANKS.indexOf(origin) > RANKS.indexOf(most) ? origin : most, 'literal')
}
