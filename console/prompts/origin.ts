import { type Source, type Span } from '../api/preview.ts'

export type Origin = 'literal' | 'default' | 'variable' | 'shared' | 'tool'

const ORIGINS: Readonly<Record<Source['kind'], Origin>> = { literal: 'literal', default: 'default', variable: 'variable', environ: 'shared', tool: 'tool' }
const RANKS: readonly Origin[] = ['literal', 'default', 'variable', 'shared', 'tool']

/** The origin that gives a piece of a rendered prompt its colour. If the piece has several sources, the one that comes last in `RANKS` counts. */
export function originOf ({ sources }: Span): Origin {
  return sources.map(({ kind }) => ORIGINS[kind]).reduce<Origin>((most, origin) => RANKS.indexOf(origin) > RANKS.indexOf(most) ? origin : most, 'literal')
}
