import { renderTimeout, ServiceError, variableMissing } from '../../base/errors.ts'
import { inTurn } from '../../runtime/fairness.ts'
import { untilAborted } from '../../runtime/until-aborted.ts'
import { type Run, type RunOptions } from './run.ts'

/**
 * The most shared variables that are fetched at a time. Each can have 1 MiB, and a loop over a branch (a group of shared variables) needs all variables
 * in it.
 */
const FETCHED_AT_A_TIME = 100

/**
 * Renders a prompt in passes, until a pass needs nothing more. A pass runs all templates, and notes the shared variables and tool calls that it needs
 * and that the run does not know yet. Then the variables are fetched and the calls made, and the next pass runs. The output of the pass that notes
 * nothing is the result.
 * @param id the prompt's id, for errors
 * @throws VARIABLE_MISSING with all missing values of a pass, RENDER_TIMEOUT, RENDER_BUDGET, or the pass's own error
 */
export async function renderToFixpoint<T> (run: Run, id: string, pass: () => T, options: RunOptions): Promise<T> {
  const expired = () => renderTimeout(options.timeout)
  for (;;) {
    const turn = inTurn(() => {
      if (performance.now() > options.deadline) throw expired()
      return runPass(run, pass)
    })
    const result = turn instanceof Promise ? await turn : turn
    if (run.notedEnvirons.size > 0) {
      await fetchEnvirons(run, options, expired)
      continue
    }
    if (run.misses.length > 0 || options.lacks === true) throw variableMissing(id, run.misses)
    if ('error' in result) throw result.error
    if (run.notedCalls.size > 0) {
      await inTime(makeCalls(run, options), options.signal, expired)
      continue
    }
    if (run.unfinished) throw new Error(`prompt ${id}: a pass left something pending and noted nothing`)
    return result.output
  }
}

/**
 * Runs one pass. When a limit of the render is exceeded, the render ends at once. Any other error is returned, because missing values, which are
 * known only after the pass, explain it better.
 */
function runPass<T> (run: Run, pass: () => T): { output: T } | { error: unknown } {
  run.beginPass()
  const started = run.trace === undefined ? 0 : performance.now()
  try {
    return { output: pass() }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    return { error }
  } finally {
    run.trace?.endPass(performance.now() - started)
  }
}

async function fetchEnvirons (run: Run, { environs, signal }: RunOptions, expired: () => Error): Promise<void> {
  const noted = [...run.notedEnvirons]
  for (let start = 0; start < noted.length; start += FETCHED_AT_A_TIME) {
    const names = noted.slice(start, start + FETCHED_AT_A_TIME)
    run.learnEnvirons(names, await inTime(environs.fetch(names, signal), signal, expired))
  }
}

async function makeCalls (run: Run, options: RunOptions): Promise<void> {
  await Promise.all(Array.from(run.notedCalls.values(), async call => {
    // Even the beginning of a call, such as checking its arguments, can take long, and there can be a hundred calls: so each begins in its turn of
    // the event loop.
    const value = await inTurn(() => {
      if (performance.now() > options.deadline) throw renderTimeout(options.timeout)
      return options.callTool(call, options.signal)
    })
    run.learnCall(call, value)
  }))
}

/** Waits for `work`, but no longer than until the signal aborts, so that a tool which ignores the signal cannot delay a render. */
async function inTime<T> (work: Promise<T>, signal: AbortSignal, expired: () => Error): Promise<T> {
  try {
    return await untilAborted(signal, work)
  } catch (error) {
    throw signal.aborted ? expired() : error
  }
}
