import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pLimit from 'p-limit'
import { lintBusy } from '../../base/errors.ts'
import { type Candidate, type ParsedCandidate, tooComplex } from '../../registry/diagnose/parse-candidate.ts'

/** How long one candidate may be parsed, in ms. */
const PARSE_MILLISECONDS = 5000

/** How long the process waits for the next candidate before it ends, in ms. */
const IDLE_MILLISECONDS = 60_000

const MAX_WAITING = 8
const MAX_MEGABYTES = 256

/** Compiled, it stands beside this file as JavaScript. */
const ENTRY = fileURLToPath(new URL(`./candidate-process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url))

export interface CandidateParser {
  /** @throws LINT_BUSY when too many wait already */
  parse (candidate: Candidate): Promise<ParsedCandidate>
  close (): Promise<void>
}

/**
 * Parses what strangers send in a process of its own, one candidate at a time: parsing is synchronous, no timer can
 * stop it, and a text within all bounds can take seconds. The process starts with the first candidate, is given none of
 * the service's environment, and is killed when one takes too long.
 * @param timeout for one candidate, in ms
 */
export function createCandidateParser (timeout = PARSE_MILLISECONDS): CandidateParser {
  const oneAtATime = pLimit(1)
  let child: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false

  async function parse (candidate: Candidate): Promise<ParsedCandidate> {
    clearTimeout(idle)
    if (isClosed) throw lintBusy(0)
    if (child?.connected !== true) child = await start()
    const answer = await ask(child, candidate, timeout)
    if (answer === undefined) {
      await end()
      return { diagnostics: [tooComplex('it takes too much time or memory to be parsed')], prompts: [] }
    }
    idle = setTimeout(() => { void end() }, IDLE_MILLISECONDS).unref()
    return answer
  }

  async function end (): Promise<void> {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    ending.ref()
    ending.kill('SIGKILL')
    await once(ending, 'exit')
  }

  return {
    async parse (candidate) {
      if (oneAtATime.pendingCount >= MAX_WAITING) throw lintBusy(MAX_WAITING)
      return await oneAtATime(parse, candidate)
    },
    async close () {
      isClosed = true
      clearTimeout(idle)
      await end()
    }
  }
}

async function start (): Promise<ChildProcess> {
  const child = fork(ENTRY, {
    serialization: 'advanced',
    env: {},
    execArgv: [...process.execArgv, `--max-old-space-size=${MAX_MEGABYTES}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc']
  })
  await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', code => { reject(new Error(`the process that parses candidates ended with ${code}`)) })
  })
  // A message that finds it dead says so to its sender; the event would end the service.
  child.on('error', () => {})
  // While it waits, neither the process nor its channel keeps the service from ending.
  child.unref()
  child.channel?.unref()
  return child
}

/** What the process says; `undefined` when it takes too long or does not survive it. */
function ask (child: ChildProcess, candidate: Candidate, timeout: number): Promise<ParsedCandidate | undefined> {
  return new Promise(resolve => {
    const finish = (answer?: ParsedCandidate) => {
      clearTimeout(timer)
      child.off('message', finish)
      child.off('exit', giveUp)
      resolve(answer)
    }
    const giveUp = () => { finish() }
    const timer = setTimeout(giveUp, timeout)
    child.on('message', finish)
    child.on('exit', giveUp)
    child.send(candidate, error => { if (error !== null) finish() })
  })
}
