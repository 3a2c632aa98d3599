import { type Run } from '../run/run.ts'
import { type Trace } from './trace.ts'

/**
 * The trace of a run, to which templates that are compiled to be explained report what they read and write.
 * @throws Error for a run without a trace: a template that was compiled to be explained cannot run in it
 */
export function traceOf ({ trace }: Run): Trace {
  if (trace === undefined) throw new Error('a template that is compiled to be explained needs a run with a trace')
  return trace
}
