import { type Trace } from '../../../src/template/trace.ts'

/** The only text that a trace explains, made of its spans. */
export function joined ({ texts: [spans = []] }: Trace): string {
  return spans.map(({ text }) => text).join('')
}
